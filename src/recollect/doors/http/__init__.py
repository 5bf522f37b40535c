"""Who is asking over HTTP? Operations, described once; the application that serves them; tokens."""
