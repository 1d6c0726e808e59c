const inspect = Symbol.for('nodejs.util.inspect.custom');
const encoder = new TextEncoder();

/**
 * A value that must never be printed: passphrases, passwords, endpoint secrets, key bytes. Conversion to a string, JSON and
 * inspection return `[secret]`. Only `expose()` returns the value, so a search for that name finds every use of a secret.
 */
export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** Returns the value. Call it only where the value is used, or returned once to its owner. */
  expose(): T {
    return this.#value;
  }

  /** The same secret in another form, still wrapped. */
  map<U>(change: (value: T) => U): Secret<U> {
    return new Secret(change(this.#value));
  }

  /** Hides the value in string conversions and template literals. */
  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  /** Hides the value in `console.log` and test reports. */
  [inspect](): string {
    return '[secret]';
  }
}

/** The exact UTF-8 bytes of a passphrase or password. */
export type SecretBytes = Secret<Uint8Array>;

/** Wraps the exact UTF-8 bytes of a text as a secret: no trimming, folding or normalisation. */
export function secretBytes(text: string): SecretBytes {
  return new Secret(encoder.encode(text));
}

/** The UTF-8 bytes of a secret text. */
export function encodeSecret(text: Secret<string>): SecretBytes {
  return text.map((exposed) => encoder.encode(exposed));
}

/** The text of secret UTF-8 bytes. */
export function decodeSecret(bytes: SecretBytes): Secret<string> {
  return bytes.map((exposed) => Buffer.from(exposed).toString('utf8'));
}
