"""`python -m recollect.doors.cli`, for where the script is not on the path."""

from recollect.doors.cli import main

main()
