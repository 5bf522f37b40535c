"""What pyproject.toml can't say: inner loops in C. Without a compiler, numpy and Python do the same."""

import sys
from pathlib import Path

from setuptools import Extension, setup

OPTIONS = [] if sys.platform == "win32" else ["-O3", "-ffp-contract=off"]
HEADERS = sorted(map(str, Path("src").rglob("*.h")))

setup(
    ext_modules=[
        Extension(
            name,
            [f"src/{name.replace('.', '/')}.c"],
            depends=HEADERS,
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            extra_compile_args=OPTIONS,
            py_limited_api=True,
            optional=True,
        )
        for name in (
            "recollect.embed._static",
            "recollect.query._text",
            "recollect.ranking._mixing",
            "recollect.store.sqlite.derived._coding",
            "recollect.store.sqlite.derived._matching",
            "recollect.store.sqlite.derived._nearest",
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
