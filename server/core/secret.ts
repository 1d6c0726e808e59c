const inspect = Symbol.for('nodejs.util.inspect.custom');
const encoder = new TextEncoder();

/**
 * A value that must never be printed: passphrases, passwords, endpoint secrets, key bytes.
 * Every implicit way out (string conversion, JSON, inspection) gives `[secret]`; `expose()` is the only
 * way in, so that a search for that word finds each place where a secret is used.
 */
export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** Hands out the value. Allowed only where it is used or returned once to its owner. */
  expose(): T {
    return this.#value;
  }

  /** The same secret in another form, still wrapped. */
  map<U>(change: (value: T) => U): Secret<U> {
    return new Secret(change(this.#value));
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect](): string {
    return '[secret]';
  }
}

/** The exact UTF-8 bytes of a passphrase or password. */
export type SecretBytes = Secret<Uint8Array>;

/** The UTF-8 bytes of a secret text. */
export function encodeSecret(text: Secret<string>): SecretBytes {
  return text.map((exposed) => encoder.encode(exposed));
}

/** The text of secret UTF-8 bytes. */
export function decodeSecret(bytes: SecretBytes): Secret<string> {
  return bytes.map((exposed) => Buffer.from(exposed).toString('utf8'));
}
