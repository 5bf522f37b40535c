"""The files of snowflake-arctic-embed-s (int8, ONNX): data only; see manifest.json beside this file."""
