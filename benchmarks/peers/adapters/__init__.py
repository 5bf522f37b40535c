"""One file a peer. Each names its class in ADAPTER, and runs in that peer's environment."""

ALL = (
    "recollect",
    "raw_parts",
    "qdrant_edge",
    "lancedb",
    "txtai",
    "chroma",
    "mem0",
    "mcp_memory_service",
    "milvus_lite",
)
