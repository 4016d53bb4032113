#!/bin/sh
# Removes the files that after-install.sh has created, unless this is an upgrade. For a removal, dpkg passes "remove" or "purge",
# and rpm passes 0. The data in users' home folders always stays.
set -e
case "$1" in remove | purge | 0) ;; *) exit 0 ;; esac

rm -f '/usr/bin/${executable}'
if [ -e '/etc/apparmor.d/${executable}' ]; then
  apparmor_parser --remove '/etc/apparmor.d/${executable}' >/dev/null 2>&1 || true
  rm -f '/etc/apparmor.d/${executable}'
fi
update-desktop-database /usr/share/applications >/dev/null 2>&1 || true
gtk-update-icon-cache --quiet --force /usr/share/icons/hicolor >/dev/null 2>&1 || true
