import { type JsonValue, parseJson } from '../../domain/json/json.ts';
import type { NewPasskeyAnswer, PasskeyAnswer } from './ceremony-schema.ts';

/** The site that passkeys belong to: they answer to no other origin. */
export interface PasskeySite {
  readonly origin: string;
  /** The host of the origin: the id of the relying party. */
  readonly rpId: string;
}

/** A person as an authenticator shows it. */
interface Owner {
  readonly id: string;
  readonly name: string;
  readonly account: string;
}

interface Known {
  readonly id: string;
  readonly transports?: readonly string[];
}

/** What an authenticator has made, once it is verified. */
interface MadePasskey {
  readonly id: string;
  /** COSE key in base64url. */
  readonly publicKey: string;
  readonly counter: number;
  readonly transports?: readonly string[];
}

/** How long a challenge is good. */
export const CHALLENGE_MS = 5 * 60 * 1_000;
/** EdDSA, ES256, RS256. */
const ALGORITHMS = [-8, -7, -257];
/** The transports that browsers know. Others are dropped: a browser would refuse them. */
const TRANSPORTS = new Set(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']);
/** A key of 4,096 bits with RSA has fewer. */
const PUBLIC_KEY_BYTES_MAX = 1_024;

/** The input of the PRF extension, in base64url. Each passkey has a function of its own, so it is the same for all. */
const PRF_INPUT = Buffer.from('cardvault: a passphrase under a passkey').toString('base64url');

/** The library costs 25 MB of memory and 200 ms, which only those pay who use passkeys. */
const loadLibrary = () => import('@simplewebauthn/server');
const loadHelpers = () => import('@simplewebauthn/server/helpers');

/** The bytes that an authenticator knows a person by. */
function handleOf({ id }: Pick<Owner, 'id'>): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(id);
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(base64url, 'base64url'));
}

function descriptorsOf(passkeys: readonly Known[]) {
  return passkeys.map(({ id, transports = [] }) => ({ id, transports: [...transports] }));
}

/** Options to make a passkey, none of the given ones again. */
export async function creationOptions(
  { rpId }: PasskeySite,
  owner: Owner,
  passkeys: readonly Known[],
  challenge: string,
) {
  const { generateRegistrationOptions } = await loadLibrary();
  return generateRegistrationOptions({
    challenge: bytesOf(challenge),
    ...{ rpName: 'Cardvault', rpID: rpId },
    ...{ userID: handleOf(owner), userName: `${owner.name} (${owner.account})`, userDisplayName: owner.name },
    ...{ attestationType: 'none', timeout: CHALLENGE_MS, supportedAlgorithmIDs: ALGORITHMS },
    // The types of the library name only those that it knows.
    excludeCredentials: descriptorsOf(passkeys) as never,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    extensions: { prf: {} },
  });
}

/** Options to sign in, or with `passkeys` to use one of these. */
export async function requestOptions(
  { rpId }: PasskeySite,
  challenge: string,
  passkeys: readonly Known[] = [],
) {
  const { generateAuthenticationOptions } = await loadLibrary();
  const options = await generateAuthenticationOptions({
    challenge: bytesOf(challenge),
    ...{ rpID: rpId, timeout: CHALLENGE_MS, userVerification: 'required' },
    allowCredentials: descriptorsOf(passkeys) as never,
  });
  // In JSON the input is base64url, which the type of the library does not know.
  return { ...options, extensions: { prf: { eval: { first: PRF_INPUT } } } };
}

/** The challenge of an answer; undefined if a page of another origin had it made, or if it is malformed. */
export function challengeOf(clientData: string): string | undefined {
  let data: JsonValue;
  try {
    data = parseJson(Buffer.from(clientData, 'base64url'));
  } catch {
    return undefined;
  }
  const challenge =
    data instanceof Map && data.get('crossOrigin') !== true ? data.get('challenge') : undefined;
  return typeof challenge === 'string' ? challenge : undefined;
}

/** Verifies the answer of an authenticator that has made a passkey; undefined if anything about it is wrong. */
export async function verifyNewPasskey(
  { origin, rpId }: PasskeySite,
  answer: NewPasskeyAnswer,
  expectedChallenge: string,
): Promise<MadePasskey | undefined> {
  const [{ verifyRegistrationResponse }, helpers] = await Promise.all([loadLibrary(), loadHelpers()]);
  const { id, rawId, response } = answer;
  try {
    const { registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...{ id, rawId, type: 'public-key', clientExtensionResults: {} },
        response: {
          clientDataJSON: response.clientDataJSON,
          attestationObject: withoutAttestation(helpers, response.attestationObject),
        },
      },
      ...{ expectedChallenge, expectedOrigin: origin, expectedRPID: rpId },
      ...{ requireUserPresence: true, requireUserVerification: true, supportedAlgorithmIDs: ALGORITHMS },
    });
    const made = registrationInfo?.credential;
    if (made === undefined || made.id !== id || made.publicKey.length > PUBLIC_KEY_BYTES_MAX) {
      return undefined;
    }
    const transports = response.transports?.filter((name) => TRANSPORTS.has(name)) ?? [];
    return {
      id,
      publicKey: Buffer.from(made.publicKey).toString('base64url'),
      counter: made.counter,
      ...(transports.length > 0 && { transports }),
    };
  } catch {
    // Its errors repeat what was sent.
    return undefined;
  }
}

/**
 * The attestation object without its statement: authenticators may add one though none was asked for. Certificates in it are not
 * even parsed, since the library would fetch the lists of revoked ones from the addresses that they name.
 */
function withoutAttestation(
  { decodeAttestationObject, isoBase64URL, isoCBOR }: Awaited<ReturnType<typeof loadHelpers>>,
  encoded: string,
): string {
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(encoded)).get('authData');
  const none = new Map<string, string | Uint8Array | Map<string, never>>([
    ['fmt', 'none'],
    ['attStmt', new Map<string, never>()],
    ['authData', authData],
  ]);
  return isoBase64URL.fromBuffer(isoCBOR.encode(none));
}

/** Verifies a sign-in with a passkey; returns its counter, undefined if anything about it is wrong. */
export async function verifySignIn(
  { origin, rpId }: PasskeySite,
  answer: PasskeyAnswer,
  expectedChallenge: string,
  owner: Pick<Owner, 'id'>,
  passkey: { readonly id: string; readonly publicKey: string },
): Promise<number | undefined> {
  const { verifyAuthenticationResponse } = await loadLibrary();
  const { id, rawId, response } = answer;
  const { clientDataJSON, authenticatorData, signature, userHandle } = response;
  if (userHandle !== Buffer.from(handleOf(owner)).toString('base64url')) {
    return undefined;
  }
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        ...{ id, rawId, type: 'public-key', clientExtensionResults: {} },
        response: { clientDataJSON, authenticatorData, signature, userHandle },
      },
      ...{ expectedChallenge, expectedOrigin: origin, expectedRPID: rpId, requireUserVerification: true },
      // The counter is compared by the caller, and only of a right signature.
      credential: {
        id: passkey.id,
        publicKey: bytesOf(passkey.publicKey),
        counter: 0,
      },
    });
    return verified ? authenticationInfo.newCounter : undefined;
  } catch {
    return undefined;
  }
}
