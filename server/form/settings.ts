import { VaultError } from '../core/errors.ts';
import { isColour } from './colour.ts';
import {
  COLOUR_EXPECTED,
  COLOUR_NAMES,
  FORM_FIELDS,
  type FormSettings,
  type FormTypeName,
  type PageSettings,
  POSTED_BESIDE,
  SETTING_NAMES,
  type ShownFormSettings,
  THEME_NAMES,
} from './schema.ts';

const CODES = ['embedded_css', 'embedded_js', 'success_callback', 'error_callback'] as const;
const LINKS = ['css_links', 'js_links'] as const;

function reject(place: string, expected: string): never {
  throw new VaultError('invalid_request', { field: `body.${place}`, expected });
}

/** The wanted members of an object that are present and not null. */
function given<Name extends string>(
  source: { readonly [Member in Name]?: unknown },
  names: readonly Name[],
): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = Object.hasOwn(source, name) ? source[name] : undefined;
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );
}

/** All present settings in a fixed order, without unknown members. */
function tidy(settings: FormSettings): ShownFormSettings {
  const { additional_fields: fields, field_options: options, theme } = settings;
  const shown = given(settings, SETTING_NAMES);
  if (fields) {
    shown['additional_fields'] = fields.map((field) =>
      given(field, ['name', 'label', 'required', 'type', 'options']),
    );
  }
  if (options) {
    const plain = Object.entries(options).map(([name, option]) => [
      name,
      given(option ?? {}, ['validate', 'visible']),
    ]);
    shown['field_options'] = Object.fromEntries(plain);
  }
  if (theme) {
    shown['theme'] = given(theme, THEME_NAMES);
  }
  // Each member was checked by its schema, and what may be null there is omitted here.
  return shown as ShownFormSettings;
}

/** Rejects additional fields with the name of another field. */
function checkFields(formType: FormTypeName, fields: ShownFormSettings['additional_fields'] = []): void {
  const taken = new Set<string>([...FORM_FIELDS[formType], ...POSTED_BESIDE[formType]]);
  for (const [i, { name, type, options }] of fields.entries()) {
    if ((type === 'select') !== (options !== undefined)) {
      reject(`additional_fields[${i}].options`, 'must be there for a `select`, and for no other type');
    }
    if (taken.has(name)) {
      reject(`additional_fields[${i}].name`, 'must not be the name of another field');
    }
    taken.add(name);
  }
}

/** Returns whether a form may lead to a URL: one of an origin that may embed it. */
function isAllowed(text: string, origins: readonly string[] = []): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:/.test(url.href) && !/[@#\\\s]/.test(text) && origins.includes(url.origin);
}

/** Returns present settings. Throws `invalid_request`, with the place, for what the schema cannot check. */
export function checkFormSettings(
  formType: FormTypeName,
  settings: FormSettings,
  environment: 'staging' | 'production',
): ShownFormSettings {
  const shown = tidy(settings);
  for (const name of LINKS) {
    const wrong = shown[name]?.findIndex((link) => !parseFormLink(link)) ?? -1;
    if (wrong !== -1) {
      reject(`${name}[${wrong}]`, 'must be an https URL, which may end in a digest such as `#sha384-…`');
    }
  }
  for (const name of CODES) {
    const code = shown[name];
    if (code !== undefined && decodeFormText(code) === undefined) {
      reject(name, 'must be base64 of UTF-8, of at most the published size');
    }
  }
  const stranger = shown.frame_ancestors?.findIndex((origin) => !isFormAncestor(origin, environment)) ?? -1;
  if (stranger !== -1) {
    reject(`frame_ancestors[${stranger}]`, 'must be an origin such as `https://shop.example`');
  }
  if (shown.success_url !== undefined && !isAllowed(shown.success_url, shown.frame_ancestors)) {
    reject('success_url', 'must be a URL without user and fragment whose origin is one of `frame_ancestors`');
  }
  for (const name of COLOUR_NAMES) {
    const colour = shown.theme?.[name];
    if (colour !== undefined && !isColour(colour)) {
      reject(`theme.${name}`, COLOUR_EXPECTED);
    }
  }
  if (shown.theme?.logo_image !== undefined && logoUrl(shown.theme.logo_image) === undefined) {
    reject('theme.logo_image', 'must be base64 of a PNG, JPEG, GIF, WebP or AVIF image');
  }
  checkFields(formType, shown.additional_fields);
  return shown;
}

/** The settings for the page, with defaults for omitted ones. */
export function toPageSettings(settings: ShownFormSettings): PageSettings {
  const { style = 'vault', logo_image: logo, ...colours } = settings.theme ?? {};
  const image = logo === undefined ? undefined : logoUrl(logo);
  return {
    display_mode: settings.display_mode ?? 'standalone',
    force_keypad: settings.force_keypad ?? false,
    hide_card: settings.hide_card ?? false,
    highlight_fields: settings.highlight_fields ?? false,
    disable_luhn: settings.disable_luhn ?? false,
    strip_spaces: settings.strip_spaces ?? false,
    field_options: settings.field_options ?? {},
    additional_fields: (settings.additional_fields ?? []).map(
      ({ name, label = name, required = false, type = 'text', options = [] }) => ({
        ...{ name, label, required, type },
        options: options.map((option) =>
          typeof option === 'string' ? { value: option, label: option } : option,
        ),
      }),
    ),
    success_url: settings.success_url ?? '',
    theme: { style, ...colours, ...(image === undefined ? {} : { logo_image: image }) },
    color_mode: settings.color_mode ?? 'light',
    locale: settings.locale ?? null,
    frame_ancestors: settings.frame_ancestors ?? [],
  };
}

/** A file that a form page loads. */
export interface FormLink {
  /** Its URL without the hash. */
  readonly href: string;
  /** Its scheme, host and port, in ASCII for a policy. */
  readonly origin: string;
  /** The expected hash, in the format of Subresource Integrity. */
  readonly integrity: string | undefined;
}

const HOST = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\\.?(?::[0-9]{1,5})?';
// Only these are safe in a policy: URLs allow `;` and `,` in host names.
const HTTPS_ORIGIN = new RegExp(`^https://${HOST}$`);
const LOCAL_ORIGIN = /^http:\/\/(?:localhost|127\.0\.0\.1)(?::[0-9]{1,5})?$/;
/** Each hash with its exact length in base64. */
const INTEGRITY = /^#(sha256-[A-Za-z0-9+/]{43}=|sha384-[A-Za-z0-9+/]{64}|sha512-[A-Za-z0-9+/]{86}==)$/;

/** Parses an https URL, optionally with a hash after `#`. Undefined for any other text. */
export function parseFormLink(text: string): FormLink | undefined {
  const at = text.indexOf('#');
  const integrity = at === -1 ? undefined : INTEGRITY.exec(text.slice(at))?.[1];
  const url = URL.parse(at === -1 ? text : text.slice(0, at));
  if (!url || !text.startsWith('https://') || (at !== -1 && integrity === undefined)) {
    return undefined;
  }
  const isPlain = url.username === '' && url.password === '' && HTTPS_ORIGIN.test(url.origin);
  return isPlain ? { href: url.href, origin: url.origin, integrity } : undefined;
}

/** Returns whether a text is an origin whose pages may embed a form, in the spelling of browsers. */
export function isFormAncestor(text: string, environment: 'staging' | 'production'): boolean {
  const isKnown = HTTPS_ORIGIN.test(text) || (environment === 'staging' && LOCAL_ORIGIN.test(text));
  return isKnown && URL.parse(text)?.origin === text;
}

const TEXT_BYTES_MAX = 65_536;
const LOGO_BYTES_MAX = 262_144;
const decoder = new TextDecoder('utf-8', { fatal: true });

/** Decodes standard base64 (RFC 4648), which may contain line breaks. Undefined if it is invalid or too long. */
function decodeBase64(text: string, bytesMax: number): Uint8Array | undefined {
  try {
    const bytes = Uint8Array.fromBase64(text, { lastChunkHandling: 'strict' });
    return bytes.length <= bytesMax ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Decodes base64 to a text of at most 64 KB; undefined if it is invalid. */
export function decodeFormText(text: string): string | undefined {
  const bytes = decodeBase64(text, TEXT_BYTES_MAX);
  try {
    return bytes && decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The first bytes of image formats, one character per byte; `.` matches any byte. */
const BEGINNINGS: readonly (readonly [type: string, beginning: string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
  ['image/webp', 'RIFF....WEBP'],
];
/** The start of an SVG document: comments and declarations may precede the root element. */
const SVG =
  /^(?:\xef\xbb\xbf)?\s*(?:(?:<\?[^?]*\?>|<!--(?:[^-]|-(?!->))*-->|<!DOCTYPE svg\b[^>[]*>)\s*)*<svg[\s>/]/i;
/** The image type is searched within these bytes. */
const HEAD_BYTES = 4_096;

function beginsWith(head: string, beginning: string): boolean {
  return [...beginning].every((character, i) => character === '.' || character === head[i]);
}

function imageType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString('latin1');
  const known = BEGINNINGS.find(([, beginning]) => beginsWith(head, beginning));
  return known?.[0] ?? (SVG.test(head) ? 'image/svg+xml' : undefined);
}

/** The data: URL of an image of at most 256 KB in base64, with the type of its first bytes. Undefined for other bytes. */
export function logoUrl(text: string): string | undefined {
  const bytes = decodeBase64(text, LOGO_BYTES_MAX);
  const type = bytes && imageType(bytes);
  return type && `data:${type};base64,${bytes.toBase64()}`;
}
