#!/bin/sh
# Prints the master key ring out of a file that only a key in a hardware module opens. For the setting
#     VAULT_MASTER_KEY_COMMAND=/etc/cardvault/master-key-pkcs11.sh RING MODULE TOKEN KEY PIN
# RING    the ring, encrypted with RSA-OAEP to the key's public half
# MODULE  the library of the module's maker, such as /usr/lib/softhsm/libsofthsm2.so
# TOKEN   the label of the token
# KEY     the label of its private key, which never leaves it
# PIN     the file with the PIN of the user, which passes to the tool in its environment: arguments are visible to all
set -eu
PKCS11_PIN=$(cat "$5")
export PKCS11_PIN
# SHA-1 is what all modules have for OAEP, which needs no collision resistance.
exec pkcs11-tool --module "$2" --token-label "$3" --login --pin env:PKCS11_PIN \
  --decrypt --mechanism RSA-PKCS-OAEP --hash-algorithm SHA-1 --mgf MGF1-SHA1 --label "$4" --input-file "$1"
