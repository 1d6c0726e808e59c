/** A file that a form page loads. */
export interface FormLink {
  /** Its URL without the hash. */
  readonly href: string;
  /** Its scheme, host and port, in ASCII for a policy. */
  readonly origin: string;
  /** The expected hash, in the format of Subresource Integrity. */
  readonly integrity: string | undefined;
}

const HOST = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\\.?(?::[0-9]{1,5})?';
// Only these are safe in a policy: URLs allow `;` and `,` in host names.
const HTTPS_ORIGIN = new RegExp(`^https://${HOST}$`);
const LOCAL_ORIGIN = /^http:\/\/(?:localhost|127\.0\.0\.1)(?::[0-9]{1,5})?$/;
/** Each hash with its exact length in base64. */
const INTEGRITY = /^#(sha256-[A-Za-z0-9+/]{43}=|sha384-[A-Za-z0-9+/]{64}|sha512-[A-Za-z0-9+/]{86}==)$/;

/** Parses an https URL, optionally with a hash after `#`. Undefined for any other text. */
export function parseFormLink(text: string): FormLink | undefined {
  const at = text.indexOf('#');
  const integrity = at === -1 ? undefined : INTEGRITY.exec(text.slice(at))?.[1];
  const url = URL.parse(at === -1 ? text : text.slice(0, at));
  if (!url || !text.startsWith('https://') || (at !== -1 && integrity === undefined)) {
    return undefined;
  }
  const isPlain = url.username === '' && url.password === '' && HTTPS_ORIGIN.test(url.origin);
  return isPlain ? { href: url.href, origin: url.origin, integrity } : undefined;
}

/** Whether a text is an origin whose pages may embed a form, in the spelling of browsers. */
export function isFormAncestor(text: string, environment: 'staging' | 'production'): boolean {
  const isKnown = HTTPS_ORIGIN.test(text) || (environment === 'staging' && LOCAL_ORIGIN.test(text));
  return isKnown && URL.parse(text)?.origin === text;
}
