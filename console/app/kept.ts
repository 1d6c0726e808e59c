/** Passphrases that a person keeps under a passkey: they are encrypted here, and the vault has what only the passkey opens. */
import { get, remove, sendJson } from '../../sdk/transport/pages.ts';
import { usePasskey } from './passkey.ts';
import type { Session } from './session.ts';
import { T } from './text.ts';

const PATH = ['person', 'self', 'passphrase'] as const;
const NONCE_BYTES = 12;
/** What the derived key is for. */
const INFO = new TextEncoder().encode('cardvault passphrase under a passkey');

/** The passphrase of a key, encrypted under a passkey. */
export interface Kept {
  readonly key: string;
  readonly passkey_id: string;
  readonly wrap: string;
  /** What the wrap belongs to. */
  readonly aad: string;
}

interface Needed {
  readonly aad: string;
  readonly generation: number;
  readonly options: PublicKeyCredentialRequestOptionsJSON;
}

/** Those of the person; none for accounts and credentials. */
export async function keptBy({ transport, who }: Session): Promise<readonly Kept[]> {
  return who.person === undefined ? [] : get<readonly Kept[]>(transport, PATH, {});
}

/** What encrypts under a passkey now: asks for it. */
async function askFor({ transport }: Session, user: string, passkeyId: string) {
  const needed = await sendJson<Needed>(transport, 'POST', [...PATH, 'options'], 'always', {
    ...{ user, passkey_id: passkeyId },
  });
  const { prf } = await usePasskey(needed.options);
  if (prf === undefined) {
    throw new Error(T.passkey.noPrf);
  }
  const secret = await crypto.subtle.importKey('raw', prf, 'HKDF', false, ['deriveKey']);
  const key = await crypto.subtle.deriveKey(
    { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: INFO },
    secret,
    { name: 'AES-GCM', length: 256 },
    false,
    ['encrypt', 'decrypt'],
  );
  return { ...needed, key };
}

function algorithmOf(nonce: Uint8Array<ArrayBuffer>, aad: string) {
  return { name: 'AES-GCM', iv: nonce, additionalData: new TextEncoder().encode(aad) };
}

function base64urlOf(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Keeps the passphrase of a key under a passkey, which is asked for. */
export async function keep(
  session: Session,
  user: string,
  passkeyId: string,
  passphrase: string,
): Promise<void> {
  const { key, aad, generation } = await askFor(session, user, passkeyId);
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const sealed = await crypto.subtle.encrypt(
    algorithmOf(nonce, aad),
    key,
    new TextEncoder().encode(passphrase),
  );
  const wrap = base64urlOf(new Uint8Array([...nonce, ...new Uint8Array(sealed)]));
  await sendJson(session.transport, 'PUT', PATH, 'always', {
    ...{ user, passkey_id: passkeyId, wrap, generation },
  });
}

/** The passphrase that was kept, with its passkey, which is asked for. */
export async function unlock(session: Session, { key: user, passkey_id, wrap, aad }: Kept): Promise<string> {
  const { key } = await askFor(session, user, passkey_id);
  const bytes = bytesOf(wrap);
  try {
    const opened = await crypto.subtle.decrypt(
      algorithmOf(bytes.slice(0, NONCE_BYTES), aad),
      key,
      bytes.slice(NONCE_BYTES),
    );
    return new TextDecoder().decode(opened);
  } catch {
    throw new Error(T.passkey.notOpened);
  }
}

/** Forgets a kept passphrase. */
export function forget({ transport }: Session, { key, passkey_id }: Kept): Promise<unknown> {
  return remove(transport, PATH, { key, passkey_id });
}
