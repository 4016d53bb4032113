#!/bin/sh
# dpkg and rpm run this as root after an installation or an upgrade. electron-builder replaces the names in braces.
set -e
app='/opt/${sanitizedProductName}'

ln -sf "$app/${executable}" '/usr/bin/${executable}'

# Chromium's sandbox uses user namespaces. If the kernel refuses them to ordinary users, the sandbox needs a helper that runs as
# root.
mode=0755
if [ "$(cat /proc/sys/kernel/unprivileged_userns_clone 2>/dev/null)" = 0 ] ||
  [ "$(cat /proc/sys/user/max_user_namespaces 2>/dev/null)" = 0 ] || [ ! -e /proc/self/ns/user ]; then
  mode=4755
fi
chmod "$mode" "$app/chrome-sandbox"

# Ubuntu 24.04 and later allow user namespaces only to programs with an AppArmor profile. Earlier versions reject this profile.
profile="$app/resources/apparmor-profile"
if apparmor_status --enabled >/dev/null 2>&1 && apparmor_parser --skip-kernel-load "$profile" >/dev/null 2>&1; then
  cp "$profile" '/etc/apparmor.d/${executable}'
  apparmor_parser --replace --write-cache '/etc/apparmor.d/${executable}' >/dev/null 2>&1 || true
fi

# Ignore failures: without a desktop environment, these programs are missing and not needed.
update-desktop-database /usr/share/applications >/dev/null 2>&1 || true
gtk-update-icon-cache --quiet --force /usr/share/icons/hicolor >/dev/null 2>&1 || true
