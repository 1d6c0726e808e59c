/** The form's settings, which the service has written into the page. Every value is checked, as the page may be older than the script. */
import type { PageConfig, PageField, PageSettings, PageVisit } from '../../server/form/schema.ts';
import { COLORS } from './color.ts';

/** A data: URL of an image type that the service accepts. */
const LOGO = /^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]+$/;

type Members = Readonly<Record<string, unknown>>;

/** The members of an object; none for any other value. */
export function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** A text that is not empty. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** One of the known texts; the first one is the default. */
function oneOf<Word extends string>(value: unknown, words: readonly [Word, ...Word[]]): Word {
  return words.find((word) => word === value) ?? words[0];
}

/** The texts of a list. */
export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

/** The members with these names that are texts. */
function pick<Name extends string>(given: Members, names: readonly Name[]): { [Each in Name]?: string } {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = text(given[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  ) as { [Each in Name]?: string };
}

/** Reads the configuration. Missing and invalid values get their defaults, so that a form is always shown. */
export function readConfig(json: string): PageConfig {
  const given = members(parse(json));
  const visit = readVisit(members(given['visit']));
  return {
    form_type: oneOf(given['form_type'], ['pcd', 'ach', 'custom']),
    api: (text(given['api']) ?? '').replace(/\/+$/, ''),
    testing: given['testing'] === true,
    ...pick(given, ['title']),
    settings: readSettings(members(given['settings'])),
    ...(visit === undefined ? {} : { visit }),
  };
}

/** The value of a JSON text; undefined for any other text. */
export function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function readSettings(given: Members): PageSettings {
  return {
    display_mode: oneOf(given['display_mode'], ['standalone', 'embedded']),
    force_keypad: given['force_keypad'] === true,
    hide_card: given['hide_card'] === true,
    highlight_fields: given['highlight_fields'] === true,
    disable_luhn: given['disable_luhn'] === true,
    strip_spaces: given['strip_spaces'] === true,
    field_options: readOptions(members(given['field_options'])),
    additional_fields: readFields(given['additional_fields']),
    theme: readTheme(members(given['theme'])),
    color_mode: oneOf(given['color_mode'], ['light', 'dark', 'auto']),
    locale:
      oneOf<'' | 'en' | 'es' | 'fr' | 'de' | 'ar'>(given['locale'], ['', 'en', 'es', 'fr', 'de', 'ar']) ||
      null,
    frame_ancestors: texts(given['frame_ancestors']),
    success_url: text(given['success_url']) ?? '',
  };
}

/** Options are true unless they are false. */
function readOptions(given: Members): PageSettings['field_options'] {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const { validate, visible } = members(value);
      return [name, { validate: validate !== false, visible: visible !== false }];
    }),
  );
}

function readFields(given: unknown): PageField[] {
  return (Array.isArray(given) ? given : []).flatMap((item): PageField[] => {
    const field = members(item);
    const name = text(field['name']);
    return name === undefined
      ? []
      : [
          {
            ...{ name, label: text(field['label']) ?? name, required: field['required'] === true },
            type: oneOf(field['type'], [
              'text',
              'email',
              'tel',
              'postal-code',
              'country',
              'select',
              'checkbox',
            ]),
            options: readOptionsOf(field['options']),
          },
        ];
  });
}

function readOptionsOf(given: unknown): PageField['options'] {
  return (Array.isArray(given) ? given : []).flatMap((item) => {
    const { value, label } = members(item);
    return typeof value === 'string' && typeof label === 'string' ? [{ value, label }] : [];
  });
}

function readTheme(given: Members): PageSettings['theme'] {
  const names = Object.keys(COLORS) as (keyof typeof COLORS)[];
  const { logo_image: logo = '', ...colors } = pick(given, [...names, 'logo_image']);
  return {
    style: oneOf(given['style'], ['vault', 'modern']),
    ...colors,
    ...(LOGO.test(logo) && { logo_image: logo }),
  };
}

function readVisit(given: Members): PageVisit | undefined {
  const { unique_id, secret, ...item } = pick(given, ['unique_id', 'secret', 'token', 'reference']);
  return unique_id === undefined || secret === undefined ? undefined : { unique_id, secret, ...item };
}
