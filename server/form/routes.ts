import { objectOf } from '../http/audit.ts';
import type { HttpConfig } from '../http/deps.ts';
import { isOnFormsHost } from '../http/mount.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Message } from '../schema/common.ts';
import type { HostedForm, HostedForms } from './forms.ts';
import type { FormPages } from './pages/render.ts';
import {
  CreateFormQuery,
  Form,
  FormPath,
  FormQuery,
  FormSettings,
  FormsReply,
  HtmlPage,
  ShowFormQuery,
} from './schema.ts';

interface Needs {
  readonly formPages: FormPages;
  readonly forms: HostedForms;
  readonly http: HttpConfig;
}

const COMMON = { noun: 'form', auth: 'basic', scope: 'form:write', meter: [] } as const;

/** The two paths of forms, with parts of the names and summaries of their operations. Each form has both. */
const BASES = [
  { path: '/v1/retrieve/iframe', suffix: '', where: '' },
  { path: '/v1/capture/iframe', suffix: 'Capture', where: ' under /capture' },
] as const;
type Base = (typeof BASES)[number];

function shown({ http }: Needs, path: string, { id, form_type, settings }: HostedForm): Form {
  return { id, url: `${http.formsUrl ?? ''}${path}/${id}`, form_type, ...settings };
}

function createForm({ path, suffix, where }: Base): Route<Needs> {
  return defineRoute({
    ...COMMON,
    method: 'POST',
    path,
    operationId: `create${suffix}Form`,
    summary: `Create a hosted form${where}`,
    description:
      'Creates a form: a page that sends the entered data to a capture endpoint, or displays data of a retrieval endpoint. The URL of the page names the endpoint. All settings are optional.',
    query: CreateFormQuery,
    body: { kind: 'json', schema: FormSettings, bytesMax: BODY_BYTES.long },
    response: Form,
    errors: ['form_exists', 'forms_full'],
    audit: { action: 'form.create', object: ({ query }) => objectOf('form', query.form_id) },
    handle: async ({ ctx, query, body }, services: Needs) => {
      const form = await services.forms.create(ctx, query, body);
      return { json: shown(services, path, form), object: objectOf('form', form.id) };
    },
  });
}

function readForms({ path, suffix, where }: Base): Route<Needs> {
  return defineRoute({
    ...COMMON,
    method: 'GET',
    path,
    operationId: `list${suffix}Forms`,
    summary: `Read one hosted form, or list all${where}`,
    description: 'With `form_id`, returns that form; otherwise all forms of the account.',
    query: FormQuery,
    response: FormsReply,
    errors: ['form_not_found'],
    handle: async ({ ctx, query: { form_id: id } }, services: Needs) =>
      id === undefined
        ? { stream: await services.forms.list(ctx, (form) => shown(services, path, form)) }
        : { json: shown(services, path, await services.forms.read(ctx, id)) },
  });
}

function showForm({ path, suffix, where }: Base): Route<Needs> {
  return defineRoute({
    ...COMMON,
    method: 'GET',
    path: `${path}/{form_id}`,
    operationId: `show${suffix}Form`,
    scope: 'none',
    summary: `Load a hosted form${where}`,
    description:
      'The page of a form of any account, for embedding; `pcd` and `ach` always exist. The page reads `unique_id`, `secret`, `token`, `reference` and `locale` from its URL, preferably from the fragment (after `#`), and sends every other parameter as data.',
    auth: 'public',
    params: FormPath,
    query: ShowFormQuery,
    html: 'always',
    response: HtmlPage,
    errors: ['form_not_found', 'integrity_failed'],
    handle: async ({ params, query, request }, services: Needs) => {
      const onFormsHost = isOnFormsHost(services.http, request);
      return services.formPages.render(await services.forms.open(params.form_id), { ...query, onFormsHost });
    },
  });
}

function replaceForm({ path, suffix, where }: Base): Route<Needs> {
  return defineRoute({
    ...COMMON,
    method: 'PUT',
    path: `${path}/{form_id}`,
    operationId: `replace${suffix}Form`,
    summary: `Replace the settings of a hosted form${where}`,
    description:
      'Replaces all settings of a form of the account; those that are left out go back to their defaults. Its type, id and URL stay. Pages that are open keep the settings with which they were loaded.',
    params: FormPath,
    body: { kind: 'json', schema: FormSettings, bytesMax: BODY_BYTES.long },
    response: Form,
    errors: ['form_not_found'],
    audit: { action: 'form.change', object: ({ params }) => objectOf('form', params.form_id) },
    handle: async ({ ctx, params, body }, services: Needs) => {
      const form = await services.forms.replace(ctx, params.form_id, body);
      return { json: shown(services, path, form) };
    },
  });
}

function removeForm({ path, suffix, where }: Base): Route<Needs> {
  return defineRoute({
    ...COMMON,
    method: 'DELETE',
    path: `${path}/{form_id}`,
    operationId: `delete${suffix}Form`,
    summary: `Delete a hosted form${where}`,
    description: 'Deletes a form of the account immediately and releases its id.',
    params: FormPath,
    response: Message,
    errors: ['form_not_found'],
    audit: { action: 'form.delete', object: ({ params }) => objectOf('form', params.form_id) },
    handle: async ({ ctx, params }, services: Needs) => {
      await services.forms.remove(ctx, params.form_id);
      return { json: { message: 'The form was deleted.' } };
    },
  });
}

export const FORM_ROUTES = BASES.flatMap((base) => [
  createForm(base),
  readForms(base),
  showForm(base),
  replaceForm(base),
  removeForm(base),
]);
