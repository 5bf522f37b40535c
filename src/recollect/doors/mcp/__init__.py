"""The door for agents: a server of the Model Context Protocol over one `Memories`. Needs `recollect[mcp]`."""
