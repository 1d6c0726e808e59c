#!/bin/sh
# Prints the master key ring out of a file that age has encrypted. For the setting
#     VAULT_MASTER_KEY_COMMAND=/etc/cardvault/master-key-age.sh RING IDENTITY
# RING      what `age -r RECIPIENT` has made of the ring
# IDENTITY  the file of age-keygen, or of a plugin such as age-plugin-yubikey
set -eu
exec age --decrypt --identity "$2" "$1"
