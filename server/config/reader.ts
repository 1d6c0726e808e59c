import { findUnknownSettings, type SettingName } from './names.ts';

/** The environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * An invalid setting, which prevents the start. The message has one line for each invalid setting; it names the setting and
 * never contains its value.
 */
export class ConfigError extends Error {
  readonly setting: string;

  constructor(setting: string, reason: string, further: readonly ConfigError[] = []) {
    super([`${setting} ${reason}`, ...further.map(({ message }) => message)].join('\n'));
    this.name = 'ConfigError';
    this.setting = setting;
  }
}

/** The reason why a value is invalid, without the value. The reader adds the name of the setting. */
export class BadValue extends Error {}

/** Rejects a value. The reason must not contain the value. */
export function rejectValue(reason: string): never {
  throw new BadValue(reason);
}

/** Parses the text of a setting; throws `BadValue` if it is invalid. */
export type Parse<T> = (text: string) => T;

/**
 * Reads settings, and collects the effective values for the start log. An invalid value is recorded and treated as not set, so
 * that `finish` can report all errors together.
 */
export interface SettingReader {
  /** The value of a setting; undefined if it is not set or invalid. */
  optional<T>(name: SettingName, parse: Parse<T>): T | undefined;
  /** The value of a setting, or of the default text. */
  withDefault<T>(name: SettingName, parse: Parse<T>, fallback: string): T;
  /** Like `optional`, for values that the start log must not contain; `shown` returns a text that it may contain. */
  secret<T>(name: SettingName, parse: Parse<T>, shown?: (value: T) => string): T | undefined;
  /** Whether the variable exists, even with an invalid value. */
  isSet(name: SettingName): boolean;
  /** Records an invalid combination of settings. */
  report(setting: string, reason: string): void;
  /** Throws one `ConfigError` with all recorded errors, if there are any. */
  finish(): void;
  /** Setting names and their effective values, without secrets. */
  readonly effective: Readonly<Record<string, string>>;
}

/** A name for messages: other characters are replaced, since names come from the environment. */
function printable(name: string): string {
  return name.replaceAll(/[^\w.-]/g, '?').slice(0, 64);
}

/** An error for each variable that is probably a misspelt setting. */
function unknownSettings(environment: Environment): ConfigError[] {
  const names = Object.keys(environment).filter((name) => environment[name] !== undefined);
  return findUnknownSettings(names).map(({ name, suggestion }) => {
    const hint = suggestion === undefined ? '' : `; did you mean ${suggestion}?`;
    return new ConfigError(printable(name), `is not a setting${hint}`);
  });
}

/** The result of parsing one value. */
type Parsed<T> =
  | { readonly kind: 'valid'; readonly value: T }
  | { readonly kind: 'invalid'; readonly error: ConfigError };

/** Parses a value; errors other than `BadValue` are bugs and are thrown. */
function parseSetting<T>(name: SettingName, parse: Parse<T>, text: string): Parsed<T> {
  try {
    // An empty value is usually a mistake in a template, which the default would hide.
    const value = text === '' ? rejectValue('is empty; set a value or remove it') : parse(text);
    return { kind: 'valid', value };
  } catch (error) {
    if (error instanceof BadValue) {
      return { kind: 'invalid', error: new ConfigError(name, error.message) };
    }
    throw error;
  }
}

/** Creates the reader of one environment. Names that look like settings but are none are recorded as errors. */
export function createSettingReader(environment: Environment): SettingReader {
  const errors = unknownSettings(environment);
  const effective: Record<string, string> = {};

  const read = <T>(name: SettingName, parse: Parse<T>, text: string): T | undefined => {
    const parsed = parseSetting(name, parse, text);
    if (parsed.kind === 'invalid') {
      errors.push(parsed.error);
      return undefined;
    }
    return parsed.value;
  };
  const optional = <T>(name: SettingName, parse: Parse<T>): T | undefined => {
    const text = environment[name];
    effective[name] = text ?? 'not set';
    return text === undefined ? undefined : read(name, parse, text);
  };

  return {
    effective,
    optional,
    withDefault: (name, parse, fallback) => {
      const value = optional(name, parse);
      if (value !== undefined) {
        return value;
      }
      effective[name] = `${fallback} (default)`;
      return parse(fallback);
    },
    secret: (name, parse, shown) => {
      const text = environment[name];
      effective[name] = text === undefined ? 'not set' : '[secret]';
      const value = text === undefined ? undefined : read(name, parse, text);
      if (value !== undefined && shown !== undefined) {
        effective[name] = shown(value);
      }
      return value;
    },
    isSet: (name) => environment[name] !== undefined,
    report: (setting, reason) => void errors.push(new ConfigError(setting, reason)),
    finish: () => {
      const [first, ...further] = errors;
      if (first !== undefined) {
        throw new ConfigError(first.setting, first.message.slice(first.setting.length + 1), further);
      }
    },
  };
}
