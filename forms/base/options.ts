/** The options of a form that a page mounts, and the frame that follows from them. */

/** Options of a form. Empty texts count as absent. */
export interface FormOptions {
  /** The endpoint, as its creation returned it: `/v1/capture/shop`, or the same as a whole URL. */
  readonly url: string;
  /** The endpoint's secret: `vcs1_…` shows a form to fill in, `vrs1_…` one that shows a stored item. */
  readonly secret: string;
  /** `pcd` (cards), `ach` (bank accounts) or the id of a form that was created. */
  readonly form?: string | undefined;
  /** The base URL of the service, without a path. By default the origin of this script, otherwise that of `url` if it is absolute. */
  readonly baseUrl?: string | undefined;
  /** True if `baseUrl` is a separate host for forms (`VAULT_FORMS_URL`), which gives them their own origin. */
  readonly formsHost?: boolean | undefined;
  /** The token to show; only for retrieval endpoints. */
  readonly token?: string | undefined;
  /** The reference to store under, or that of the item to show. It is required for items with a reference. */
  readonly reference?: string | undefined;
  /** The title of the form's page. */
  readonly title?: string | undefined;
  /** True if the form sends to the service's staging environment. */
  readonly testing?: boolean | undefined;
  /** The form's language, such as `de` or `de-AT`. By default that of the form, otherwise of the browser. */
  readonly locale?: string | undefined;
  /** True if the networks of a card that has two are offered; the choice is stored as `network`. */
  readonly networks?: boolean | undefined;
  /** Texts that are stored in addition to the fields; only for capture endpoints. */
  readonly extraData?: Readonly<Record<string, string>> | undefined;
  /** The accessible name of the frame. */
  readonly label?: string | undefined;
}

/** The attributes of the frame to create. */
export interface FormPlan {
  readonly src: string;
  readonly sandbox: string;
  /** The origin that the form's messages have: `null` for a sandboxed one, as browsers write it. */
  readonly origin: string;
  readonly label: string;
  /** True if any other page that the window loads is replaced. */
  readonly isKept?: boolean;
}

type Mode = 'capture' | 'retrieve';

/** The type of each option. */
const NAMES: Readonly<Record<keyof FormOptions, 'string' | 'boolean' | 'object'>> = {
  url: 'string',
  secret: 'string',
  form: 'string',
  baseUrl: 'string',
  formsHost: 'boolean',
  token: 'string',
  reference: 'string',
  title: 'string',
  testing: 'boolean',
  locale: 'string',
  networks: 'boolean',
  extraData: 'object',
  label: 'string',
};

/** Parameters of the form's page, which `extraData` must not set. */
const RESERVED = [
  'unique_id',
  'secret',
  'token',
  'reference',
  'title',
  'testing',
  'locale',
  'networks',
  'preview',
];
const DANGEROUS = ['__proto__', 'constructor', 'prototype'];
/** The URL of an endpoint, absolute or relative to the service. */
const ENDPOINT_URL = /^(?<base>https?:\/\/[^?#\\\s]+)?\/v1\/(?<mode>capture|retrieve)\/(?<id>[^/?#\\\s]+)$/;
/** The path of a script of the service. */
const SCRIPT_PATH = /\/forms\/(?:[^/]+\/)?[\w.-]+\.js$/;
/** An identifier, see `isIdentifier` of the server. */
const ID = /^(?!(?:iframe|\.{1,2})$)[A-Za-z0-9_.@:-]{1,128}$/;

function reject(text: string): never {
  throw new TypeError(text);
}

/** The URL of a text; null if it is invalid. Older browsers have no `URL.parse`. */
function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/**
 * The base URL of the service that a script was loaded from: its URL up to `/forms/`, with or without a version.
 * Undefined for a script from elsewhere, such as a shop's own bundle.
 */
export function baseOfScript(script: string | undefined): string | undefined {
  const url = parseUrl(script ?? '');
  return url !== null && /^https?:$/.test(url.protocol) && SCRIPT_PATH.test(url.pathname)
    ? url.origin + url.pathname.replace(SCRIPT_PATH, '')
    : undefined;
}

/**
 * Checks the options and plans the frame. The secret is in the fragment of its address, which browsers never send to
 * a server. Throws a TypeError that names the invalid option and never contains the secret.
 */
export function planForm(given: FormOptions, scriptBase: string | undefined): FormPlan {
  const options = checkShape(given);
  const mode = modeOf(options.secret);
  const { base, id } = endpointOf(options.url, mode);
  checkMode(options, mode);
  const { form = 'pcd', formsHost = false, title, testing = false, label } = options;
  if (!ID.test(form)) {
    reject('The option "form" must be pcd, ach or the id of a form.');
  }
  const url = baseUrlOf(options.baseUrl ?? scriptBase ?? base);
  url.pathname = `/v1/${mode}/iframe/${form}`;
  url.search = new URLSearchParams({
    ...(title !== undefined && { title }),
    ...(testing && { testing: 'true' }),
  }).toString();
  url.hash = fragmentOf(options, id);
  return {
    src: url.href,
    sandbox: `allow-scripts allow-forms${formsHost ? ' allow-same-origin' : ''}`,
    origin: formsHost ? url.origin : 'null',
    label: label ?? title ?? (mode === 'capture' ? 'Payment details' : 'Stored payment details'),
  };
}

/** The present options. Unknown names are rejected, so that a typing mistake is noticed. */
function checkShape(given: FormOptions): FormOptions {
  if (typeof given !== 'object' || given === null) {
    reject('A form takes an object of options: { url, secret, … }.');
  }
  const kept = Object.entries(given).filter(([, value]) => value !== undefined && value !== '');
  for (const [name, value] of kept) {
    const type = Object.hasOwn(NAMES, name) ? NAMES[name as keyof FormOptions] : undefined;
    if (type === undefined) {
      reject(`There is no option "${name}". There are: ${Object.keys(NAMES).join(', ')}.`);
    }
    if (typeof value !== type || value === null) {
      reject(`The option "${name}" must be ${type === 'object' ? 'an' : 'a'} ${type}.`);
    }
  }
  const options: Partial<FormOptions> = Object.fromEntries(kept);
  const { url = reject('The option "url" is missing: the url of a capture or retrieval endpoint.') } =
    options;
  const { secret = reject('The option "secret" is missing: the secret that came with the endpoint.') } =
    options;
  return { ...options, url, secret };
}

/** The kind of endpoint that a secret belongs to. */
function modeOf(secret: string): Mode {
  if (secret.startsWith('vcs1_')) {
    return 'capture';
  }
  return secret.startsWith('vrs1_')
    ? 'retrieve'
    : reject(
        'The option "secret" must be that of a capture endpoint (vcs1_…) or retrieval endpoint (vrs1_…).',
      );
}

/** The base URL and the id in the URL of an endpoint. */
function endpointOf(url: string, mode: Mode): { readonly base: string | undefined; readonly id: string } {
  const { base, mode: found, id = '' } = ENDPOINT_URL.exec(url)?.groups ?? {};
  if (found === undefined) {
    reject(
      'The option "url" must be the url of an endpoint: /v1/capture/… or /v1/retrieve/…, or a whole one.',
    );
  }
  if (found !== mode) {
    reject(`The options "url" and "secret" do not fit: the secret is one of a ${mode} endpoint.`);
  }
  const decoded = decode(id);
  return ID.test(decoded)
    ? { base, id: decoded }
    : reject('The option "url" does not end with the id of an endpoint.');
}

/** Percent-decoding; an invalid text becomes empty, which no id is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** Rejects options that the kind of endpoint does not have. */
function checkMode({ token, extraData }: FormOptions, mode: Mode): void {
  if (mode === 'capture' && token !== undefined) {
    reject('The option "token" is for retrieval endpoints: a capture makes the token.');
  }
  if (mode === 'retrieve' && token === undefined) {
    reject('The option "token" is missing: the token of the item to show.');
  }
  if (mode === 'retrieve' && extraData !== undefined) {
    reject('The option "extraData" is for capture endpoints.');
  }
}

/** The base URL of the service; http is accepted for local tests. */
function baseUrlOf(base: string | undefined): URL {
  if (base === undefined) {
    return reject('The option "baseUrl" is missing: this script does not come from the service itself.');
  }
  const url = parseUrl(base);
  if (url === null || !/^https?:$/.test(url.protocol) || /[?#@]/.test(base)) {
    return reject(
      'The option "baseUrl" must be the https URL of the service, without user, query and fragment.',
    );
  }
  // Below a path the service would share its origin with other programs, whose scripts could read what is typed.
  return url.pathname === '/'
    ? url
    : reject(`The service must have a host of its own, as in its VAULT_PUBLIC_URL: ${url.href} has a path.`);
}

/** The fragment of the frame's address. */
function fragmentOf(options: FormOptions, id: string): string {
  const { secret, token, reference, locale, networks = false, extraData = {} } = options;
  const parameters = new URLSearchParams({ unique_id: id, secret });
  const add = (name: string, value: string | undefined): void => {
    if (value !== undefined && value !== '') {
      parameters.append(name, value);
    }
  };
  add('token', token);
  add('reference', reference);
  add('locale', locale?.toLowerCase().replace(/[-_].*$/, ''));
  add('networks', networks ? 'true' : '');
  for (const [name, value] of Object.entries(extraData)) {
    if (name === '' || RESERVED.includes(name) || DANGEROUS.includes(name)) {
      reject(`The option "extraData" may not have a member "${name}".`);
    }
    if (typeof value !== 'string') {
      reject(`The member "${name}" of the option "extraData" must be a string.`);
    }
    add(name, value);
  }
  return parameters.toString();
}
