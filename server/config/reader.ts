export type Environment = Readonly<Record<string, string | undefined>>;

/** Invalid settings, which prevent the start. The message has a line for each, without its value. */
export class ConfigError extends Error {
  readonly setting: string;

  constructor(setting: string, reason: string, further: readonly ConfigError[] = []) {
    super([`${setting} ${reason}`, ...further.map(({ message }) => message)].join('\n'));
    this.name = 'ConfigError';
    this.setting = setting;
  }
}

/** The reason why a value is invalid, without the value. `loadConfig` adds the name of the setting. */
export class BadValue extends Error {}

/** Rejects a value. The reason must not contain the value. */
export function rejectValue(reason: string): never {
  throw new BadValue(reason);
}

/** Parses the text of a setting; throws `BadValue` if it is invalid. */
export type Parse<T> = (text: string) => T;
