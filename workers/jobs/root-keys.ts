import { IntegrityError } from '../crypto/primitives/bytes.ts';
import { decodeRoots, type Roots, rootId } from '../crypto/record/roots.ts';
import {
  createSubkeys,
  type Purpose,
  type ServiceSealer,
  type Subkeys,
} from '../crypto/record/service-record.ts';

/** The place of the sealed root among the service records: purpose, account, kind and path. */
export const ROOT_PLACE = ['record', '', 'root', ['root']] as const;

/** A root record is a few hundred bytes. */
const CELL_BYTES = 4_096;
/** Two numbers: of the version, odd while it is written, and of the bytes. */
const HEAD_BYTES = 8;

/** Shared memory by which all threads of a process receive the sealed root record; empty until `writeRootCell`. */
export function createRootCell(): SharedArrayBuffer {
  return new SharedArrayBuffer(CELL_BYTES);
}

/** Replaces the record; each thread opens it before its next use of a root key. One thread of a process writes. */
export function writeRootCell(cell: SharedArrayBuffer, record: Uint8Array): void {
  const head = new Int32Array(cell, 0, 2);
  Atomics.add(head, 0, 1);
  new Uint8Array(cell, HEAD_BYTES).set(record);
  Atomics.store(head, 1, record.length);
  Atomics.add(head, 0, 1);
}

function versionOf(cell: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(cell, 0, 2), 0);
}

/** The record with its version; it is read again if it was being written. */
function readRootCell(cell: SharedArrayBuffer): { readonly version: number; readonly record: Uint8Array } {
  for (;;) {
    const version = versionOf(cell);
    const record = new Uint8Array(cell, HEAD_BYTES, Atomics.load(new Int32Array(cell, 0, 2), 1)).slice();
    if (version % 2 === 0 && versionOf(cell) === version) {
      return { version, record };
    }
  }
}

/** The keys of one state of the root record. */
interface RootKeys {
  readonly roots: Roots;
  readonly ids: readonly string[];
  readonly derive: readonly Subkeys[];
  readonly links: Subkeys;
}

/** The keys of the root in a thread. They are shared: callers neither change nor wipe them. */
export interface RootSource {
  /** The key that is written under. Throws an `IntegrityError` while there is no root. */
  readonly rootKey: Subkeys;
  /** The keys that may have been written under, the oldest first. */
  readonly rootKeys: (purpose: Purpose, account: string) => readonly Uint8Array[];
  /** The id of the root that is written under, and all roots by id; undefined if hashes name none. */
  readonly writeRootId: () => string | undefined;
  readonly rootKeyOf: (id: string | undefined, purpose: Purpose) => Uint8Array | undefined;
}

function openRoots(sealer: ServiceSealer, env: string, record: Uint8Array): RootKeys {
  const plain = sealer.open(...ROOT_PLACE, record);
  try {
    const roots = decodeRoots(plain, env);
    const label = 'cardvault root key';
    return {
      roots,
      ids: roots.roots.map(rootId),
      derive: roots.roots.map((root) => createSubkeys(root, label, env)),
      links: createSubkeys(roots.links, label, env),
    };
  } finally {
    plain.fill(0);
  }
}

function writeIndexOf({ stage, roots }: Roots): number {
  return stage === 'known' ? 0 : roots.length - 1;
}

/** Makes the source of a thread over a fixed record, or over a cell; undefined: there is no root yet. */
export function createRootSource(
  sealer: ServiceSealer,
  env: string,
  given: Uint8Array | SharedArrayBuffer | undefined,
): RootSource {
  let version = 0;
  // The version is compared at each use of a key.
  const head = given instanceof SharedArrayBuffer ? new Int32Array(given, 0, 2) : undefined;
  let opened = given instanceof Uint8Array ? openRoots(sealer, env, given) : undefined;
  const current = (): RootKeys => {
    if (
      given instanceof SharedArrayBuffer &&
      head !== undefined &&
      (opened === undefined || Atomics.load(head, 0) !== version)
    ) {
      const read = readRootCell(given);
      opened = read.version === 0 ? undefined : openRoots(sealer, env, read.record);
      version = read.version;
    }
    if (opened === undefined) {
      throw new IntegrityError('root');
    }
    return opened;
  };
  return {
    rootKey(purpose, account) {
      const { derive, links, roots } = current();
      // Records that are compared with copies and checkpoints of any age.
      if (purpose === 'audit' || purpose === 'log-heads') {
        return links(purpose, account);
      }
      return purpose === 'audit-sign' ? roots.seed : (derive[writeIndexOf(roots)] ?? links)(purpose, account);
    },
    rootKeys(purpose, account) {
      const { derive, roots } = current();
      // The indexes of a steady state are under the newest root alone.
      const isIndex = purpose === 'ref-index' || purpose === 'metadata-index';
      const read = isIndex && roots.stage === 'steady' ? derive.slice(-1) : derive;
      return read.map((subkeys) => subkeys(purpose, account));
    },
    writeRootId() {
      const { ids, roots } = current();
      return roots.version === 1 ? undefined : ids[writeIndexOf(roots)];
    },
    rootKeyOf(id, purpose) {
      const { derive, ids } = current();
      // Verifiers of a vault whose root was never rotated name none: they are of its first.
      return derive[id === undefined ? 0 : ids.indexOf(id)]?.(purpose, '');
    },
  };
}
