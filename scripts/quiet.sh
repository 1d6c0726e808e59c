#!/bin/sh
# Becomes the program given. Its memory holds keys and card data, which must not end up in a core file or a crash
# report.
ulimit -c 0
export BUN_ENABLE_CRASH_REPORTING=0 DO_NOT_TRACK=1
exec "$@"
