/** Passkeys of this browser. What their extension PRF returns stays in this page. */
import { T } from './text.ts';

/** What went wrong with a passkey, told to people. */
class PasskeyError extends Error {}

/** True if this browser has passkeys, and this page may use them. */
export function hasPasskeys(): boolean {
  return typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;
}

/** The sentences for what a browser refuses, by the names of its errors. */
const SENTENCES: Readonly<Record<string, string>> = {
  NotAllowedError: T.passkey.notConfirmed,
  AbortError: T.passkey.notConfirmed,
  InvalidStateError: T.passkey.known,
  SecurityError: T.passkey.elsewhere,
  ConstraintError: T.passkey.cannotConfirm,
  NotSupportedError: T.passkey.cannotConfirm,
};

async function ask(request: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  if (!hasPasskeys()) {
    throw new PasskeyError(T.passkey.none);
  }
  let credential: Credential | null;
  try {
    credential = await request();
  } catch (error) {
    const name = error instanceof DOMException ? error.name : '';
    throw new PasskeyError(SENTENCES[name] ?? T.passkey.notConfirmed);
  }
  if (!(credential instanceof PublicKeyCredential)) {
    throw new PasskeyError(T.passkey.notConfirmed);
  }
  return credential;
}

/** What the vault gets to see of a credential: no results of extensions. */
function answerOf(credential: PublicKeyCredential): object {
  return { ...credential.toJSON(), clientExtensionResults: {} };
}

/** Makes a passkey. */
export async function makePasskey(options: PublicKeyCredentialCreationOptionsJSON) {
  const credential = await ask(() =>
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }),
  );
  const { id } = credential;
  const hasPrf = credential.getClientExtensionResults().prf?.enabled === true;
  return { id, answer: answerOf(credential), hasPrf };
}

/** Uses a passkey. `prf` is the result of its extension, if it has it. */
export async function usePasskey(options: PublicKeyCredentialRequestOptionsJSON) {
  const credential = await ask(() =>
    navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }),
  );
  const { id } = credential;
  const prf = credential.getClientExtensionResults().prf?.results?.first;
  return { id, answer: answerOf(credential), prf };
}
