/** The exact UTF-8 bytes of a passphrase or password. */
export type SecretBytes = Secret<Uint8Array>;
/**
 * A value that must never be printed: passphrases, passwords, endpoint secrets, key bytes.
 * Every implicit way out (string conversion, JSON, inspection) gives `[secret]`; `expose()` is the only
 * way in, so that a search for that word finds each place where a secret is used.
 */
const inspect = Symbol.for('nodejs.util.inspect.custom');

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
