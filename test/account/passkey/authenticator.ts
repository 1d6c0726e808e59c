/** A browser with an authenticator, made of software. It does the right thing, or any wrong one that a test asks for. */
import { createHash, createHmac, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** What is different about an answer. Nothing is by default. */
export interface Wrong {
  readonly origin?: string;
  readonly rpId?: string;
  readonly type?: string;
  readonly challenge?: string;
  /** Flags of the authenticator data: the user was present, the user was verified. */
  readonly up?: boolean;
  readonly uv?: boolean;
  readonly counter?: number;
  readonly userHandle?: string | null;
  /** The id that the answer names, in place of the passkey's own. */
  readonly id?: string;
  /** The page was in a frame of another origin. */
  readonly crossOrigin?: boolean;
  /** Changes the signature. */
  readonly sign?: (signature: Buffer) => Buffer;
  /** Changes the client data after it was signed. */
  readonly clientData?: (text: string) => string;
  /** What stands beside `toJSON()`'s own extension results. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** Attestation in place of none. */
  readonly attestation?: { readonly fmt: string; readonly attStmt: Readonly<Record<string, unknown>> };
  /** Bytes behind the authenticator data. */
  readonly tail?: Buffer;
}

export type Algorithm = 'ES256' | 'EdDSA' | 'RS256';

/** Options as the vault sends them, as far as the authenticator reads them. */
export interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
  readonly excludeCredentials: readonly { readonly id: string }[];
}

export interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
}

/** CBOR (RFC 8949) of what WebAuthn needs: integers, bytes, texts, lists and maps. */
export function cbor(value: unknown): Buffer {
  if (typeof value === 'number') {
    return value < 0 ? head(1, -1 - value) : head(0, value);
  }
  if (typeof value === 'string') {
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  }
  if (value instanceof Uint8Array) {
    return Buffer.concat([head(2, value.length), value]);
  }
  if (Array.isArray(value)) {
    return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  }
  const entries = value instanceof Map ? [...value] : Object.entries(Object(value));
  return Buffer.concat([
    head(5, entries.length),
    ...entries.flatMap(([name, member]) => [cbor(name), cbor(member)]),
  ]);
}

function head(major: number, length: number): Buffer {
  const type = major << 5;
  if (length < 24) {
    return Buffer.from([type | length]);
  }
  if (length < 0x1_00) {
    return Buffer.from([type | 24, length]);
  }
  return Buffer.from([type | 25, length >> 8, length & 0xff]);
}

function sha256(value: string | Uint8Array): Buffer {
  return createHash('sha256').update(value).digest();
}

function bytesOf(base64url: string | undefined): Buffer {
  return Buffer.from(base64url ?? '', 'base64url');
}

interface Jwk {
  readonly x?: string;
  readonly y?: string;
  readonly n?: string;
  readonly e?: string;
}

const COSE: Readonly<Record<Algorithm, (jwk: Jwk) => Map<number, unknown>>> = {
  ES256: ({ x, y }) =>
    new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytesOf(x)],
      [-3, bytesOf(y)],
    ]),
  EdDSA: ({ x }) =>
    new Map<number, unknown>([
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytesOf(x)],
    ]),
  RS256: ({ n, e }) =>
    new Map<number, unknown>([
      [1, 3],
      [3, -257],
      [-1, bytesOf(n)],
      [-2, bytesOf(e)],
    ]),
};

function keyPairOf(algorithm: Algorithm) {
  switch (algorithm) {
    case 'ES256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' });
    case 'EdDSA':
      return generateKeyPairSync('ed25519');
    case 'RS256':
      return generateKeyPairSync('rsa', { modulusLength: 2_048 });
  }
}

/** One passkey with its browser. */
export class SoftwareAuthenticator {
  readonly id: string;
  counter: number;
  /** The person that the passkey is for, as the options to make it have said. */
  userHandle = '';
  private readonly privateKey: KeyObject;
  private readonly prfSecret = randomBytes(32);
  private readonly publicKey: KeyObject;

  constructor(
    readonly origin: string,
    readonly algorithm: Algorithm = 'ES256',
    {
      id = randomBytes(32).toString('base64url'),
      counter = 0,
    }: { readonly id?: string; readonly counter?: number } = {},
  ) {
    const { privateKey, publicKey } = keyPairOf(algorithm);
    this.privateKey = privateKey;
    this.publicKey = publicKey;
    this.id = id;
    this.counter = counter;
  }

  /** Answers options to make a passkey, as `toJSON()` of a browser. */
  create(options: CreationOptions, wrong: Wrong = {}) {
    this.userHandle = options.user.id;
    const clientData = this.clientData('webauthn.create', options.challenge, wrong);
    const id = bytesOf(this.id);
    const attested = Buffer.concat([
      Buffer.alloc(16),
      Buffer.from([id.length >> 8, id.length & 0xff]),
      id,
      cbor(COSE[this.algorithm](this.publicKey.export({ format: 'jwk' }))),
    ]);
    const authData = this.authenticatorData(options.rp.id, 0x40, wrong, attested);
    const { fmt = 'none', attStmt = {} } = wrong.attestation ?? {};
    return {
      ...this.common(wrong),
      response: {
        clientDataJSON: this.sent(clientData, wrong),
        attestationObject: cbor({ fmt, attStmt, authData }).toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        publicKey: this.publicKey.export({ format: 'der', type: 'spki' }).toString('base64url'),
        publicKeyAlgorithm: { ES256: -7, EdDSA: -8, RS256: -257 }[this.algorithm],
        transports: ['internal', 'hybrid', 'a-future-one'],
      },
    };
  }

  /** Answers options to sign in, as `toJSON()` of a browser. */
  get(options: RequestOptions, wrong: Wrong = {}) {
    const clientData = this.clientData('webauthn.get', options.challenge, wrong);
    const authData = this.authenticatorData(options.rpId, 0, wrong, Buffer.alloc(0));
    const digest = this.algorithm === 'EdDSA' ? null : 'sha256';
    const signature = sign(digest, Buffer.concat([authData, sha256(clientData)]), this.privateKey);
    return {
      ...this.common(wrong),
      response: {
        clientDataJSON: this.sent(clientData, wrong),
        authenticatorData: authData.toString('base64url'),
        signature: (wrong.sign?.(signature) ?? signature).toString('base64url'),
        userHandle: wrong.userHandle === undefined ? this.userHandle : wrong.userHandle,
      },
    };
  }

  /** What the extension `prf` computes of an input, in this passkey alone. It never leaves the browser. */
  prf(input: string): Buffer {
    const salt = sha256(Buffer.concat([Buffer.from('WebAuthn PRF\0'), bytesOf(input)]));
    return createHmac('sha256', this.prfSecret).update(salt).digest();
  }

  private common({ id = this.id, extensions = {} }: Wrong) {
    return {
      ...{ id, rawId: id, type: 'public-key', authenticatorAttachment: 'platform' },
      clientExtensionResults: { credProps: { rk: true }, prf: { enabled: true }, ...extensions },
    };
  }

  private clientData(type: string, challenge: string, wrong: Wrong): string {
    return JSON.stringify({
      type: wrong.type ?? type,
      challenge: wrong.challenge ?? challenge,
      origin: wrong.origin ?? this.origin,
      crossOrigin: wrong.crossOrigin ?? false,
    });
  }

  private sent(clientData: string, { clientData: change }: Wrong): string {
    return Buffer.from(change?.(clientData) ?? clientData).toString('base64url');
  }

  private authenticatorData(rpId: string, flags: number, wrong: Wrong, attested: Buffer): Buffer {
    const { up = true, uv = true, tail = Buffer.alloc(0) } = wrong;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(wrong.counter ?? this.counter);
    const allFlags = flags | (up ? 0x01 : 0) | (uv ? 0x04 : 0);
    return Buffer.concat([sha256(wrong.rpId ?? rpId), Buffer.from([allFlags]), counter, attested, tail]);
  }
}
