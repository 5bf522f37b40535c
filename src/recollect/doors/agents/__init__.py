"""The agents' side: their configuration files, and the hooks that they call."""
