/** What the service put into the page: the form's settings. Read with care, as the page may be older than the script. */
import type { PageConfig, PageField, PageSettings, PageVisit } from '../../server/http/schema/form.ts';
import { COLORS } from './color.ts';

export type { PageConfig } from '../../server/http/schema/form.ts';

const COLOR_NAMES = Object.keys(COLORS) as (keyof typeof COLORS)[];
const LOGO = /^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]+$/;

type Members = Readonly<Record<string, unknown>>;

const members = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** The first of the words is the default. */
const oneOf = <Word extends string>(value: unknown, words: readonly [Word, ...Word[]]): Word =>
  words.find((word) => word === value) ?? words[0];

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];

/** The texts among the members of these names. */
const pick = <Name extends string>(given: Members, names: readonly Name[]): { [Each in Name]?: string } =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = text(given[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  ) as { [Each in Name]?: string };

/** Reads the configuration; whatever is missing or odd takes its default, so that a form always shows. */
export const readConfig = (json: string): PageConfig => {
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
};

const parse = (json: string): unknown => {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
};

const readSettings = (given: Members): PageSettings => ({
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
    oneOf<'' | 'en' | 'es' | 'fr' | 'de' | 'ar'>(given['locale'], ['', 'en', 'es', 'fr', 'de', 'ar']) || null,
  frame_ancestors: texts(given['frame_ancestors']),
});

/** Only what is switched off matters: everything else means true. */
const readOptions = (given: Members): PageSettings['field_options'] =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const { validate, visible } = members(value);
      return [name, { validate: validate !== false, visible: visible !== false }];
    }),
  );

const readFields = (given: unknown): PageField[] =>
  (Array.isArray(given) ? given : []).flatMap((item): PageField[] => {
    const field = members(item);
    const name = text(field['name']);
    return name === undefined
      ? []
      : [{ name, label: text(field['label']) ?? name, required: field['required'] === true }];
  });

const readTheme = (given: Members): PageSettings['theme'] => {
  const { logo_image: logo = '', ...colors } = pick(given, [...COLOR_NAMES, 'logo_image']);
  return {
    style: oneOf(given['style'], ['vault', 'modern']),
    ...colors,
    ...(LOGO.test(logo) && { logo_image: logo }),
  };
};

const readVisit = (given: Members): PageVisit | undefined => {
  const { unique_id, secret, ...item } = pick(given, ['unique_id', 'secret', 'token', 'reference']);
  return unique_id === undefined || secret === undefined ? undefined : { unique_id, secret, ...item };
};
