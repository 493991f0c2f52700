#!/bin/sh
# Makes the user of weir.service, where there is systemd. Nothing is started.
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers --root="${DPKG_ROOT:-/}" weir.conf
fi
