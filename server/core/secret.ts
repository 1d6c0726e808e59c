const inspect = Symbol.for('nodejs.util.inspect.custom');

/** The exact UTF-8 bytes of a passphrase or password. */
export type SecretBytes = Secret<Uint8Array>;

/**
 * A value that must never be printed: a passphrase, a password, an endpoint secret, or key bytes. String conversion, JSON and
 * inspection return `[secret]`; only `expose()` returns the value, so a search for it finds every use of a secret.
 */
export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value. Call it only where the value is used, or returned once to its owner. */
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
