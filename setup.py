"""What pyproject.toml can't say: inner loops in C. Where there is no compiler, numpy does the same."""

import sys

from setuptools import Extension, setup

OPTIONS = [] if sys.platform == "win32" else ["-O3", "-ffp-contract=off"]

setup(
    ext_modules=[
        Extension(
            "recollect.store.sqlite.derived._kernel",
            ["src/recollect/store/sqlite/derived/_kernel.c"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            extra_compile_args=OPTIONS,
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
