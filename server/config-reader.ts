import { findUnknownSetting, type SettingName } from './config-names.ts';

/** The environment as handed to `loadConfig`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting that stops the start. The message is one line; it names the setting and never holds its value. */
export class ConfigError extends Error {
  readonly setting: string;

  constructor(setting: string, reason: string) {
    super(`${setting} ${reason}`);
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

/** Reads settings one by one and remembers, for the start log, what each one came to. */
export interface SettingReader {
  /** The setting's value, or `undefined` where it is not set. */
  optional<T>(name: SettingName, parse: Parse<T>): T | undefined;
  /** The setting's value, or what the default text comes to. */
  withDefault<T>(name: SettingName, parse: Parse<T>, fallback: string): T;
  /** As `optional`, for values that the start log must not show; `shown` may give a part that it may. */
  secret<T>(name: SettingName, parse: Parse<T>, shown?: (value: T) => string): T | undefined;
  isSet(name: SettingName): boolean;
  readonly effective: Readonly<Record<string, string>>;
}

const printable = (name: string): string => name.replaceAll(/[^\w.-]/g, '?').slice(0, 64);

const refuseUnknown = (environment: Environment): void => {
  const unknown = findUnknownSetting(
    Object.keys(environment).filter((name) => environment[name] !== undefined),
  );
  if (unknown === undefined) {
    return;
  }
  const hint = unknown.suggestion === undefined ? '' : `; did you mean ${unknown.suggestion}?`;
  throw new ConfigError(printable(unknown.name), `is not a setting${hint}`);
};

const parseSetting = <T>(name: SettingName, parse: Parse<T>, text: string): T => {
  try {
    // An empty value is mostly a template that was not filled in; taking the default would hide that.
    return text === '' ? refuse('is empty; give it a value or remove it') : parse(text);
  } catch (error) {
    if (error instanceof BadValue) {
      throw new ConfigError(name, error.message);
    }
    throw error;
  }
};

/** Makes the reader of one environment. Refuses at once when that holds a name that is not a setting. */
export const createSettingReader = (environment: Environment): SettingReader => {
  refuseUnknown(environment);
  const effective: Record<string, string> = {};

  const optional = <T>(name: SettingName, parse: Parse<T>): T | undefined => {
    const text = environment[name];
    effective[name] = text ?? 'not set';
    return text === undefined ? undefined : parseSetting(name, parse, text);
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
      return parseSetting(name, parse, fallback);
    },
    secret: (name, parse, shown) => {
      const text = environment[name];
      effective[name] = text === undefined ? 'not set' : '[secret]';
      if (text === undefined) {
        return undefined;
      }
      const value = parseSetting(name, parse, text);
      if (shown !== undefined) {
        effective[name] = shown(value);
      }
      return value;
    },
    isSet: (name) => environment[name] !== undefined,
  };
};
