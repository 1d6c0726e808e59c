import { Secret } from '../../core/secret.ts';
import { readCookie } from '../session/cookie.ts';

/** The cookie that binds a sign-in at a provider to the browser that has begun it. Browsers send it when the provider leads back. */
const NAME = 'vault_signin';
/** 256 random bits in base64url. */
const PROOF = /^[A-Za-z0-9_-]{43}$/;

/** Browsers take the prefix over HTTPS alone. */
function nameOf(consoleUrl: string): string {
  return consoleUrl.startsWith('http:') ? NAME : `__Host-${NAME}`;
}

function cookieOf(consoleUrl: string, proof: string, seconds: number): string {
  const secure = consoleUrl.startsWith('http:') ? '' : '; Secure';
  return `${nameOf(consoleUrl)}=${proof}; Path=/; HttpOnly; SameSite=Lax${secure}; Max-Age=${seconds}`;
}

/** The `Set-Cookie` of a sign-in. */
export function signInCookie(consoleUrl: string, proof: string, ms: number): string {
  return cookieOf(consoleUrl, proof, ms / 1_000);
}

/** The `Set-Cookie` that ends it. */
export function endOfSignInCookie(consoleUrl: string): string {
  return cookieOf(consoleUrl, '', 0);
}

/** The proof in a `Cookie` header; undefined if there is none, or two that differ. */
export function readSignInCookie(consoleUrl: string, header: string): Secret<string> | undefined {
  const proof = readCookie(nameOf(consoleUrl), header);
  return proof !== undefined && PROOF.test(proof) ? new Secret(proof) : undefined;
}
