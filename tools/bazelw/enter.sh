#!/bin/sh
# enter.sh CACHE MODULES ROOT COMMAND...
# Runs in a new mount namespace: mounts ROOT over the machine and executes COMMAND.
set -eu
cache=$1
modules=$2
root=$3
shift 3

# Files of the machine that stay visible: users, host names, and certificates for its registries.
own=$root/run
mount -t tmpfs none "$own"
for file in passwd group hosts resolv.conf; do
  cp -L "/etc/$file" "$own/$file" 2>/dev/null || : >"$own/$file"
done
cp -L "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$own/ca-certificates.crt" 2>/dev/null ||
  : >"$own/ca-certificates.crt"
printf 'cache=%s\nmodules=%s\nroot=%s\n' "$cache" "$modules" "$root" >"$own/rules_dnn-root"

mount --rbind "$root/etc" /etc
for file in passwd group hosts resolv.conf rules_dnn-root; do
  mount --bind "$own/$file" "/etc/$file"
done
mount --bind "$own/ca-certificates.crt" /etc/ssl/certs/ca-certificates.crt

# Go is in /usr/local.
mount --rbind /usr/local "$root/usr/local"
mount --rbind "$root/usr" /usr

export SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
exec "$@"
