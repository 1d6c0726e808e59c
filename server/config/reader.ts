import { findUnknownSettings, type SettingName } from './names.ts';

/** The environment as handed to `loadConfig`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A setting that stops the start. The message names the setting and never holds its value; it is one line, with
 * one more line for each further error that was found on the way.
 */
export class ConfigError extends Error {
  readonly setting: string;

  constructor(setting: string, reason: string, further: readonly ConfigError[] = []) {
    super([`${setting} ${reason}`, ...further.map(({ message }) => message)].join('\n'));
    this.name = 'ConfigError';
    this.setting = setting;
  }
}

/** Why a value was refused; the reader puts the setting's name before it. */
export class BadValue extends Error {}

/** Ends the parsing of one value. The reason is a constant text: it must never repeat the value. */
export const refuse = (reason: string): never => {
  throw new BadValue(reason);
};

/** Makes a value from a setting's text, or refuses it. */
export type Parse<T> = (text: string) => T;

/**
 * Reads settings one by one and remembers, for the start log, what each one came to. A bad value is noted, and the
 * reading goes on as if it were not set, so that an operator learns of all mistakes at once; `finish` throws.
 */
export interface SettingReader {
  /** The setting's value, or `undefined` where it is not set, or bad. */
  optional<T>(name: SettingName, parse: Parse<T>): T | undefined;
  /** The setting's value, or what the default text comes to. */
  withDefault<T>(name: SettingName, parse: Parse<T>, fallback: string): T;
  /** As `optional`, for values that the start log must not show; `shown` may give a part that it may. */
  secret<T>(name: SettingName, parse: Parse<T>, shown?: (value: T) => string): T | undefined;
  isSet(name: SettingName): boolean;
  /** Notes that values do not go together. */
  refuse(setting: string, reason: string): void;
  /** Throws one `ConfigError` for all that was noted. */
  finish(): void;
  readonly effective: Readonly<Record<string, string>>;
}

const printable = (name: string): string => name.replaceAll(/[^\w.-]/g, '?').slice(0, 64);

const unknownOf = (environment: Environment): ConfigError[] => {
  const names = Object.keys(environment).filter((name) => environment[name] !== undefined);
  return findUnknownSettings(names).map(({ name, suggestion }) => {
    const hint = suggestion === undefined ? '' : `; did you mean ${suggestion}?`;
    return new ConfigError(printable(name), `is not a setting${hint}`);
  });
};

/** The value, or why the text is none. */
const parseSetting = <T>(name: SettingName, parse: Parse<T>, text: string): { value: T } | ConfigError => {
  try {
    // An empty value is mostly a template that was not filled in; taking the default would hide that.
    return { value: text === '' ? refuse('is empty; give it a value or remove it') : parse(text) };
  } catch (error) {
    if (error instanceof BadValue) {
      return new ConfigError(name, error.message);
    }
    throw error;
  }
};

/** Makes the reader of one environment, with names that are no settings noted already. */
export const createSettingReader = (environment: Environment): SettingReader => {
  const problems = unknownOf(environment);
  const effective: Record<string, string> = {};

  const read = <T>(name: SettingName, parse: Parse<T>, text: string): T | undefined => {
    const outcome = parseSetting(name, parse, text);
    if (outcome instanceof ConfigError) {
      problems.push(outcome);
      return undefined;
    }
    return outcome.value;
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
    refuse: (setting, reason) => void problems.push(new ConfigError(setting, reason)),
    finish: () => {
      const [first, ...further] = problems;
      if (first !== undefined) {
        throw new ConfigError(first.setting, first.message.slice(first.setting.length + 1), further);
      }
    },
  };
};
