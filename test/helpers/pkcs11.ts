/** The stock tools for hardware modules, and a module in software. */
import { realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const VENDORED = join(import.meta.dir, '../../.vendor/pkcs11');
/** Where programs are looked for: they are of this machine, or what scripts/pkcs11-vendor.sh unpacks. */
export const PATH_WITH_PKCS11 = `${process.env['PATH']}${delimiter}${VENDORED}`;
/** The library of SoftHSM, where its package puts it. */
export const MODULE = '/usr/lib/softhsm/libsofthsm2.so';

/** The library of SoftHSM on this machine. */
export function findModule(): string {
  const found = [MODULE, join(VENDORED, MODULE)].find((path) => Bun.file(path).size > 0);
  if (found === undefined) {
    throw new Error('No SoftHSM for the tests: run scripts/pkcs11-vendor.sh');
  }
  return realpathSync(found);
}
