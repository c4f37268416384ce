#!/bin/sh
# Installs the Debian packages listed in the file named as the first argument, where they are missing and this account
# may install them; otherwise says in one line what to install.
set -eu
missing=""
while read -r package; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $package"
done < "$1"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root="sudo"
else
  echo "Missing system packages, which this account may not install:$missing. Ask for: apt-get install --no-install-recommends$missing" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -q
# Without recommendations: they would bring a printing system along.
# shellcheck disable=SC2086
$as_root apt-get install -q -y --no-install-recommends $missing
