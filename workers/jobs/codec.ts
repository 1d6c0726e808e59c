/**
 * Codecs of the values that cross between threads, whose bytes in a message only this file knows. Both sides use the same
 * codec, so a value that is written is read as the same value.
 */
import { Secret } from '../../server/core/secret.ts';
import type { Codec, FrameWriter } from '../pool/frame.ts';

export type AnyCodec = Codec<never, unknown>;

/** The value on the writing side of a codec. */
export type Given<C extends AnyCodec> = C extends Codec<infer G, unknown> ? G : never;

/** The value on the reading side of a codec. */
export type Taken<C extends AnyCodec> = C extends Codec<never, infer T> ? T : never;

type Shape = Readonly<Record<string, AnyCodec>>;
type GivenShape<S extends Shape> = { readonly [Name in keyof S]: Given<S[Name]> };
type TakenShape<S extends Shape> = { readonly [Name in keyof S]: Taken<S[Name]> };
type Variants = Readonly<Record<string, Shape>>;
type GivenVariant<V extends Variants> = {
  [Kind in keyof V]: Plain<{ readonly kind: Kind } & GivenShape<V[Kind]>>;
}[keyof V];
type TakenVariant<V extends Variants> = {
  [Kind in keyof V]: Plain<{ readonly kind: Kind } & TakenShape<V[Kind]>>;
}[keyof V];
/** The same object type with all of its members in one place. */
type Plain<T> = T extends infer O ? { readonly [Name in keyof O]: O[Name] } : never;

export const bytes: Codec<Uint8Array> = {
  write: (value, out) => out.string(value),
  read: (reader) => reader.string(),
};

export const text: Codec<string> = {
  write: (value, out) => out.text(value),
  read: (reader) => reader.text(),
};

/** The bytes of a text in UTF-8 on one side, the text on the other. */
export const utf8Text: Codec<Uint8Array, string> = { write: bytes.write, read: text.read };

/** A value that is a secret on the writing side. */
export function revealed<G, T>({ write, read }: Codec<G, T>): Codec<Secret<G>, T> {
  return { write: (value, out) => write(value.expose(), out), read };
}

/** A secret that is unwrapped on its way into the thread, where its bytes are wiped after the job. */
export const secret = revealed(bytes);

/** For jobs without a result. */
export const nothing: Codec<void> = { write: () => undefined, read: () => undefined };

/** 64-bit floating point numbers. */
export const floats: Codec<Float64Array> = {
  write: writeArray,
  // A view in a frame need not lie at a multiple of 8 bytes.
  read: (reader) => new Float64Array(reader.string().slice().buffer),
};

/** Unsigned 32-bit integers, in the machine's own byte order. */
export const words: Codec<Uint32Array> = {
  write: writeArray,
  read: (reader) => new Uint32Array(reader.string().slice().buffer),
};

/** A plain value as JSON text. It comes from this process's own code, which built it from this very type. */
export function json<T>(): Codec<T> {
  return {
    write: (value, out) => out.text(JSON.stringify(value)),
    read: (reader) => JSON.parse(reader.text()) as T,
  };
}

/** JSON text in bytes on one side, its value on the other. */
export function jsonText<T>(): Codec<Uint8Array, T> {
  return { write: bytes.write, read: json<T>().read };
}

/** A value for the writing side alone, which chooses a lane or a share by it; it does not cross. */
export function local<T>(): Codec<T, undefined> {
  return { write: () => undefined, read: () => undefined };
}

/** A value that is a secret on the reading side. */
export function concealed<G, T>({ write, read }: Codec<G, T>): Codec<G, Secret<T>> {
  return { write, read: (reader) => new Secret(read(reader)) };
}

/** A value that may be missing. */
export function optional<G, T>(codec: Codec<G, T>): Codec<G | undefined, T | undefined> {
  return {
    write(value, out) {
      out.number(value === undefined ? 0 : 1);
      if (value !== undefined) {
        codec.write(value, out);
      }
    },
    read: (reader) => (reader.number() === 0 ? undefined : codec.read(reader)),
  };
}

/** Any number of values of one kind. */
export function list<G, T>(item: Codec<G, T>): Codec<readonly G[], readonly T[]> {
  return {
    write(values, out) {
      out.number(values.length);
      for (const value of values) {
        item.write(value, out);
      }
    },
    read(reader) {
      const values: T[] = [];
      for (let left = reader.number(); left > 0; left--) {
        values.push(item.read(reader));
      }
      return values;
    },
  };
}

/** An object whose members each have a codec. Other members of a given object do not cross. */
export function message<S extends Shape>(shape: S): Codec<Plain<GivenShape<S>>, Plain<TakenShape<S>>> {
  const members = Object.entries(shape);
  return {
    write(value: Readonly<Record<string, unknown>>, out) {
      for (const [name, codec] of members) {
        codec.write(value[name] as never, out);
      }
    },
    read(reader) {
      const value: Record<string, unknown> = {};
      for (const [name, codec] of members) {
        value[name] = codec.read(reader);
      }
      // Each member is the result of its codec; the type of the loop does not show that.
      return value as Plain<TakenShape<S>>;
    },
  };
}

/** One of several objects, distinguished by their `kind`. */
export function oneOf<V extends Variants>(variants: V): Codec<GivenVariant<V>, TakenVariant<V>> {
  const kinds = Object.keys(variants);
  const codecs: readonly AnyCodec[] = Object.values(variants).map(message);
  return {
    write(value, out) {
      // Every variant has a kind, which the type of all of them together does not show.
      const index = kinds.indexOf((value as unknown as { readonly kind: string }).kind);
      out.number(index);
      (codecs[index] ?? noVariant).write(value as never, out);
    },
    read(reader) {
      const index = reader.number();
      const value = (codecs[index] ?? noVariant).read(reader) as TakenVariant<V>;
      return Object.assign(value, { kind: kinds[index] });
    },
  };
}

function rejectVariant(): never {
  throw new TypeError('a message is of no kind that its codec has');
}

const noVariant: AnyCodec = { write: rejectVariant, read: rejectVariant };

function writeArray({ buffer, byteOffset, byteLength }: ArrayBufferView, out: FrameWriter): void {
  out.string(new Uint8Array(buffer, byteOffset, byteLength));
}
