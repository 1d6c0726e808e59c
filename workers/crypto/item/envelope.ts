/**
 * Envelopes: the source of the data key (DEK) of one part of one item, for the holders of one generation of a vault key.
 *
 * Derived, by a writer with the passphrase: `header 4 | gen 4 | salt 16`; the DEK is an HMAC of it under the owner key.
 * Owned, by earlier versions: `header 4 | gen 4 | salt 16 | nonce 12 | wrapped 32 | tag 16`.
 * Sealed, by a writer with the public half only: `header 4 | gen 4 | enc | nonce 12 | wrapped 32 | tag 16`, where the suite in
 * the header is that of the generation: `enc` has 32 bytes with X25519, 1,120 with X-Wing.
 */
import {
  type Generation,
  generationOf,
  ownerKeyOf,
  type PublicGeneration,
  type UnlockedKey,
} from '../key/unlocked.ts';
import { aad, createAad } from '../primitives/aad.ts';
import {
  checkHeader,
  concat,
  EMPTY,
  equalBytes,
  HEADER_BYTES,
  headerSuite,
  IntegrityError,
  openedOrNot,
  readBytes,
  readU32,
  type Suite,
  TYPE,
  viewOf,
  wipe,
  writeHeader,
  writeU32,
  X_WING_SUITE,
  X25519_SUITE,
} from '../primitives/bytes.ts';
import { exportSecret, importPrivate, POINT_BYTES, setupReceiver, setupSender } from '../primitives/hpke.ts';
import { fillRandom, randomBytes } from '../primitives/random.ts';
import {
  hmac,
  KEY_BYTES,
  MESSAGE_EXTRA_BYTES,
  NONCE_BYTES,
  openAt,
  openMessage,
  SALT_BYTES,
  sealInto,
  sha256,
  TAG_BYTES,
} from '../primitives/symmetric.ts';
import { exportXWing, setupXWingReceiver, setupXWingSender, X_WING_ENC_BYTES } from '../primitives/x-wing.ts';
import type { KeyContext } from '../record/service-record.ts';
import { keepExporter, keptExporter } from './exporters.ts';

/** Names one part of one item. */
export interface PartContext extends KeyContext {
  readonly token: string;
  /** 0 is the item, 1 its sensitive authentication data; 2 and 3 are those of a patch. */
  readonly part: 0 | 1 | 2 | 3;
}

/** Header and generation: clear in all kinds, and bound to the key. */
const HEAD_BYTES = HEADER_BYTES + 4;
const DERIVED_BYTES = HEAD_BYTES + SALT_BYTES;
const OWNED_BYTES = HEAD_BYTES + KEY_BYTES + MESSAGE_EXTRA_BYTES;
/** Length of `enc`, by which the set-up of a sealed envelope is found again. */
const ENC_BYTES: Readonly<Record<Suite, number>> = {
  [X25519_SUITE]: POINT_BYTES,
  [X_WING_SUITE]: X_WING_ENC_BYTES,
};
/** A sealed envelope without `enc`. */
const SEALED_REST_BYTES = HEAD_BYTES + NONCE_BYTES + KEY_BYTES + TAG_BYTES;

/** Length of the envelope that a record begins with, by its type byte; `IntegrityError` for any other type. */
export function envelopeBytes(record: Uint8Array): number {
  switch (record[1]) {
    case TYPE.derivedEnvelope:
      return DERIVED_BYTES;
    case TYPE.ownedEnvelope:
      return OWNED_BYTES;
    case TYPE.sealedEnvelope:
      return SEALED_REST_BYTES + ENC_BYTES[headerSuite(record, TYPE.sealedEnvelope, HEADER_BYTES)];
    default:
      throw new IntegrityError('envelope');
  }
}

/** Number of the generation of an envelope. It is proven only when the envelope opens. */
export function envelopeGeneration(envelope: Uint8Array): number {
  return readU32(envelope, HEADER_BYTES);
}

const encodePlace = createAad('cardvault envelope');
const encodeDerived = createAad('cardvault data key');

/**
 * AAD of an envelope: its clear bytes before the salt or nonce, and its place. An envelope moved to another item, part, key,
 * account or environment does not open.
 */
function bind(ctx: PartContext, head: Uint8Array): Uint8Array {
  return encodePlace([head, ctx.env, ctx.aid, ctx.kid, ctx.token, ctx.part]);
}

/**
 * The `info` of the HPKE set-up (RFC 9180, section 5.1): one for all items of a generation, so that a set-up can be
 * shared. The item itself is bound by `exportWrapKey`.
 */
function hpkeInfo(ctx: KeyContext, gen: number): Uint8Array {
  return aad('cardvault hpke', [ctx.env, ctx.aid, ctx.kid, gen]);
}

/** The last long `enc` and its name: a captured item has the same several times. */
let lastEnc: Uint8Array = EMPTY;
let lastName: Uint8Array = EMPTY;

/** Represents `enc` in the AAD: itself or, where it is long and shared by many, its SHA-256. */
function encName(suite: Suite, enc: Uint8Array): Uint8Array {
  if (suite !== X_WING_SUITE) {
    return enc;
  }
  if (!equalBytes(enc, lastEnc)) {
    lastEnc = new Uint8Array(enc);
    lastName = sha256(enc);
  }
  return lastName;
}

/** The key that wraps one data key: exported for its place and its nonce, so used once. */
function exportWrapKey(
  suite: Suite,
  exporterSecret: Uint8Array,
  associated: Uint8Array,
  nonce: Uint8Array,
): Uint8Array {
  const exportKey = suite === X_WING_SUITE ? exportXWing : exportSecret;
  return exportKey(exporterSecret, aad('cardvault dek', [associated, nonce]), KEY_BYTES);
}

/**
 * The data key of a derived envelope. The salt makes it new for each write, the label and the lengths keep it apart from
 * the message keys of owned envelopes, which are HMACs of 16 bytes under the same key.
 */
function deriveDek(
  key: UnlockedKey,
  { env, aid, kid, token, part }: PartContext,
  envelope: Uint8Array,
): Uint8Array {
  const generation = generationOf(key, envelopeGeneration(envelope));
  const place = encodeDerived([envelope, env, aid, kid, token, part]);
  return hmac(ownerKeyOf(key, generation), place);
}

/** The writer's key: the open key, or the public half of one generation. */
export type ItemOwner = UnlockedKey | PublicGeneration;

/**
 * A fresh data key of 32 bytes, which the caller wipes, and its envelope: derived for the newest generation of an open
 * key, sealed to a public half. Errors as `wrapDekSealed`.
 */
export function newDek(
  owner: ItemOwner,
  ctx: PartContext,
): { readonly envelope: Uint8Array; readonly dek: Uint8Array } {
  if (!('generations' in owner)) {
    const dek = randomBytes(KEY_BYTES);
    return { envelope: wrapDekSealed(owner, ctx, dek), dek };
  }
  const envelope = new Uint8Array(DERIVED_BYTES);
  writeHeader(envelope, TYPE.derivedEnvelope);
  writeU32(envelope, HEADER_BYTES, generationOf(owner).gen);
  fillRandom(envelope, HEAD_BYTES, SALT_BYTES);
  return { envelope, dek: deriveDek(owner, ctx, envelope) };
}

interface Sender {
  readonly suite: Suite;
  /** The `info` of the set-up and the public half identify its receiver. */
  readonly info: Uint8Array;
  readonly publicHalf: Uint8Array;
  /** The start of its envelopes: header, generation and `enc`; and the part of their AAD that stands for it. */
  readonly start: Uint8Array;
  readonly bound: Uint8Array;
  readonly exporterSecret: Uint8Array;
  readonly bornMs: number;
  wraps: number;
}

/** At most one sender is kept for each vault key; a fresh one costs about 100 us. */
const SENDERS_MAX = 256;
/** One `enc` on many items reveals that they were captured together: within a minute, and 1,024 of them. */
const SENDER_WRAPS_MAX = 1024;
const SENDER_AGE_MAX_MS = 60_000;
const senders = new Map<string, Sender>();
/** The set-ups that are being made, by `info` and public half: writes that come meanwhile wait for the same one. */
const coming = new Map<string, Promise<void>>();

/** An exporter secret opens what was sealed with it, so it does not outlive its use. */
function dropSender(kid: string): void {
  wipe(senders.get(kid)?.exporterSecret);
  senders.delete(kid);
}

function keepSender(kid: string, sender: Sender): void {
  dropSender(kid);
  const oldest = senders.size >= SENDERS_MAX ? senders.keys().next().value : undefined;
  if (oldest !== undefined) {
    dropSender(oldest);
  }
  senders.set(kid, sender);
}

/** The kept set-up towards a public half. */
function senderTo({ gen, publicHalf }: PublicGeneration, ctx: KeyContext): Sender | undefined {
  const found = senders.get(ctx.kid);
  return found && equalBytes(found.info, hpkeInfo(ctx, gen)) && equalBytes(found.publicHalf, publicHalf)
    ? found
    : undefined;
}

async function makeSender({ gen, publicHalf: given }: PublicGeneration, ctx: KeyContext): Promise<void> {
  const info = hpkeInfo(ctx, gen);
  // Not `slice`: of a Buffer that is a view, and its owner wipes it.
  const publicHalf = new Uint8Array(given);
  const suite = publicHalf.length === POINT_BYTES ? X25519_SUITE : X_WING_SUITE;
  const { enc, context } =
    suite === X25519_SUITE ? setupSender(publicHalf, info) : await setupXWingSender(publicHalf, info);
  const head = new Uint8Array(HEAD_BYTES);
  writeHeader(head, TYPE.sealedEnvelope, 0, suite);
  writeU32(head, HEADER_BYTES, gen);
  keepSender(ctx.kid, {
    ...{ suite, info, publicHalf, start: concat([head, enc]), bound: concat([head, encName(suite, enc)]) },
    ...{ exporterSecret: context.exporterSecret, bornMs: performance.now(), wraps: 0 },
  });
}

/**
 * Resolves when there is a set-up towards a public half, which sealing to it needs: the runtime makes those of X-Wing in
 * promises alone. Each is for about 1,024 wraps within 60 s, which export separate keys from it. Undefined if there is one.
 * Rejects an invalid public half with `IntegrityError`.
 */
export function missingSender(target: PublicGeneration, ctx: KeyContext): Promise<void> | undefined {
  const found = senderTo(target, ctx);
  if (found && found.wraps < SENDER_WRAPS_MAX && performance.now() - found.bornMs < SENDER_AGE_MAX_MS) {
    return undefined;
  }
  const name = `${hpkeInfo(ctx, target.gen).toHex()} ${target.publicHalf.toHex()}`;
  const ready = coming.get(name) ?? makeSender(target, ctx).finally(() => coming.delete(name));
  coming.set(name, ready);
  return ready;
}

/** Waits until there is such a set-up, which may be displaced before its turn. */
export async function untilSender(target: PublicGeneration, ctx: KeyContext): Promise<void> {
  for (let wait = missingSender(target, ctx); wait !== undefined; wait = missingSender(target, ctx)) {
    await wait;
  }
}

/**
 * Wraps a data key for the holder of a private half, knowing its public half only: HPKE (RFC 9180) Base,
 * export-only. Rejects a public half without a set-up (see `missingSender`) with `IntegrityError`. HPKE Base names no sender: that an item was
 * stored by this service is proven by the hash in its sealed metadata (`meta.ts`).
 */
export function wrapDekSealed(target: PublicGeneration, ctx: PartContext, dek: Uint8Array): Uint8Array {
  const sender = senderTo(target, ctx);
  if (sender === undefined) {
    throw new IntegrityError('key');
  }
  const { suite, start, exporterSecret } = sender;
  sender.wraps++;
  const out = new Uint8Array(start.length + NONCE_BYTES + KEY_BYTES + TAG_BYTES);
  out.set(start);
  const nonceAt = start.length;
  const nonce = randomBytes(NONCE_BYTES);
  out.set(nonce, nonceAt);
  const associated = bind(ctx, sender.bound);
  const wrapKey = exportWrapKey(suite, exporterSecret, associated, nonce);
  try {
    sealInto(out, nonceAt + NONCE_BYTES, wrapKey, nonce, dek, associated);
  } finally {
    wipe(wrapKey);
  }
  return out;
}

/**
 * Opens an envelope of a writer with the passphrase: HMAC of the owner key and the salt, then AES-256-GCM. The
 * generation that it names must be one of the key's.
 */
function unwrapOwned(key: UnlockedKey, ctx: PartContext, envelope: Uint8Array): Uint8Array {
  checkHeader(envelope, TYPE.ownedEnvelope, OWNED_BYTES);
  const generation = generationOf(key, envelopeGeneration(envelope));
  const associated = bind(ctx, viewOf(envelope, 0, HEAD_BYTES));
  return openMessage(ownerKeyOf(key, generation), HEAD_BYTES, envelope, associated);
}

/** Opens a set-up. The exporter secret of an invalid one is random and opens nothing, so that only its item fails. */
async function openSetup(
  generation: Generation,
  enc: Uint8Array,
  info: Uint8Array,
  keep: (exporterSecret: Uint8Array) => void,
): Promise<void> {
  const { suite, publicKey, privateKey } = generation;
  try {
    if (suite === X_WING_SUITE) {
      keep((await setupXWingReceiver(enc, privateKey, info)).exporterSecret);
    } else {
      generation.imported ??= importPrivate(privateKey);
      keep(setupReceiver(enc, generation.imported, publicKey, info).exporterSecret);
    }
  } catch (error) {
    if (!(error instanceof IntegrityError)) {
      throw error;
    }
    keep(randomBytes(KEY_BYTES));
  }
}

/**
 * Resolves when a key has the exporter secrets of all sealed parts among these: kept from an earlier request, or opened now,
 * each once. The runtime opens set-ups of X-Wing in promises alone. Undefined if it has them; parts that will be refused need
 * none. The key must stay open until then.
 */
export function missingExporters(
  key: UnlockedKey,
  ctx: KeyContext,
  parts: Iterable<Uint8Array>,
): Promise<unknown> | undefined {
  const opening = new Map<string, Promise<void>>();
  const add = (part: Uint8Array): void => {
    const generation = generationOf(key, envelopeGeneration(part));
    const { gen, suite } = generation;
    const enc = readBytes(part, HEAD_BYTES, ENC_BYTES[suite]);
    const setup = encName(suite, enc).toBase64();
    generation.exporters ??= new Map();
    const { exporters } = generation;
    // One `enc` at two places is two set-ups: kept as one, each would displace the other for ever.
    const name = [ctx.aid, ctx.kid, gen, setup].join(' ');
    if (exporters.has(setup) || opening.has(name)) {
      return;
    }
    const place = aad('cardvault exporter', [enc, ctx.env, ctx.aid, ctx.kid, gen]);
    const ownerKey = ownerKeyOf(key, generation);
    const kept = keptExporter(ownerKey, name, place);
    if (kept !== undefined) {
      exporters.set(setup, kept);
      return;
    }
    const opened = openSetup(generation, enc, hpkeInfo(ctx, gen), (secret) => {
      // Unless the key was wiped meanwhile.
      if (generation.exporters === exporters) {
        keepExporter(ownerKey, name, place, secret);
        exporters.set(setup, secret);
      }
    });
    opening.set(name, opened);
  };
  for (const part of parts) {
    if (part[1] === TYPE.sealedEnvelope) {
      openedOrNot(() => add(part));
    }
  }
  return opening.size === 0 ? undefined : Promise.all(opening.values());
}

/**
 * Opens an envelope of a writer without the passphrase, of the suite of its generation. Captures of one minute share their
 * set-up, whose exporter secret the key has (see `missingExporters`).
 */
function unwrapSealed(key: UnlockedKey, ctx: PartContext, envelope: Uint8Array): Uint8Array {
  const generation = generationOf(key, envelopeGeneration(envelope));
  const { suite } = generation;
  const encBytes = ENC_BYTES[suite];
  checkHeader(envelope, TYPE.sealedEnvelope, SEALED_REST_BYTES + encBytes, suite);
  const enc = viewOf(envelope, HEAD_BYTES, encBytes);
  const name = encName(suite, enc);
  const exporterSecret = generation.exporters?.get(name.toBase64());
  if (exporterSecret === undefined) {
    throw new IntegrityError('envelope');
  }
  const nonceAt = HEAD_BYTES + encBytes;
  const associated = bind(ctx, concat([viewOf(envelope, 0, HEAD_BYTES), name]));
  const nonce = viewOf(envelope, nonceAt, NONCE_BYTES);
  const wrapKey = exportWrapKey(suite, exporterSecret, associated, nonce);
  try {
    return openAt(envelope, nonceAt, wrapKey, associated);
  } finally {
    wipe(wrapKey);
  }
}

/**
 * The data key of an envelope of any kind. Rejects damage and any other context with `IntegrityError`, but for a derived
 * envelope: there they give another key, which opens nothing.
 */
export function unwrapDek(key: UnlockedKey, ctx: PartContext, envelope: Uint8Array): Uint8Array {
  if (envelope.length !== envelopeBytes(envelope) || ctx.kid !== key.kid) {
    throw new IntegrityError('envelope');
  }
  if (envelope[1] === TYPE.derivedEnvelope) {
    checkHeader(envelope, TYPE.derivedEnvelope, DERIVED_BYTES);
    return deriveDek(key, ctx, envelope);
  }
  return envelope[1] === TYPE.ownedEnvelope
    ? unwrapOwned(key, ctx, envelope)
    : unwrapSealed(key, ctx, envelope);
}
