import { Type } from '@sinclair/typebox';
import type { HostedForm } from '../../services/form/form.ts';
import type { Deps } from '../plugins/app-parts.ts';
import { objectOf } from '../plugins/audit.ts';
import { isOnFormsHost } from '../plugins/forms-host.ts';
import { defineRoute, type Route } from '../plugins/route.ts';
import { Message } from '../schema/common.ts';
import {
  CreateFormQuery,
  Form,
  FormList,
  FormPath,
  FormQuery,
  FormSettings,
  HtmlPage,
  ShowFormQuery,
} from '../schema/form.ts';
import { NO_QUERY } from './endpoint.ts';

const BODY_BYTES_MAX = 1_048_576;

const COMMON = { noun: 'form', passphrase: 'none', meter: [], idempotent: false } as const;

/** One of the two paths of forms. Each form exists under both; replies name the path of the request. */
interface FormPlace {
  readonly path: '/v1/retrieve/iframe' | '/v1/capture/iframe';
  /** A part of the operation ids. */
  readonly suffix: '' | 'Capture';
}

const show =
  ({ path }: FormPlace, { http }: Deps) =>
  ({ id, form_type, settings }: HostedForm): Form => ({
    id,
    url: `${http.formsUrl ?? ''}${path}/${id}`,
    form_type,
    ...settings,
  });

const createForm = (place: FormPlace): Route =>
  defineRoute({
    ...COMMON,
    method: 'POST',
    path: place.path,
    operationId: `create${place.suffix}Form`,
    summary: 'Create a hosted form',
    description:
      'Creates a form: a page that sends the entered data to a capture endpoint, or displays data of a retrieval endpoint. The URL of the page names the endpoint. All settings are optional.',
    auth: 'basic',
    query: CreateFormQuery,
    body: { kind: 'json', schema: FormSettings, bytesMax: BODY_BYTES_MAX },
    response: Form,
    errors: ['form_exists', 'forms_full'],
    audit: { action: 'form.create', of: 'all', object: ({ query }) => objectOf('form', query.form_id) },
    handle: async ({ ctx, query, body: settings, deps }) => {
      const form = await deps.forms.create(ctx, { ...query, settings });
      return { json: show(place, deps)(form), object: objectOf('form', form.id) };
    },
  });

const listForms = (place: FormPlace): Route =>
  defineRoute({
    ...COMMON,
    method: 'GET',
    path: place.path,
    operationId: `list${place.suffix}Forms`,
    summary: 'Read one hosted form, or list all',
    description: 'With `form_id`, returns that form; otherwise all forms of the account.',
    auth: 'basic',
    query: FormQuery,
    body: { kind: 'none' },
    response: Type.Union([Form, FormList]),
    errors: ['form_not_found', 'integrity_failed'],
    handle: async ({ ctx, query: { form_id: id }, deps }) =>
      id === undefined
        ? { stream: await deps.forms.list(ctx, show(place, deps)) }
        : { json: show(place, deps)(await deps.forms.read(ctx, id)) },
  });

const showForm = (place: FormPlace): Route =>
  defineRoute({
    ...COMMON,
    method: 'GET',
    path: `${place.path}/{form_id}`,
    operationId: `show${place.suffix}Form`,
    summary: 'Load a hosted form',
    description:
      'The page of a form of any account, for embedding; `pcd` and `ach` always exist. The page reads `unique_id`, `secret`, `token`, `reference` and `locale` from its URL, preferably from the fragment (after `#`), and sends every other parameter as data.',
    auth: 'public',
    params: FormPath,
    query: ShowFormQuery,
    body: { kind: 'none' },
    html: 'always',
    response: HtmlPage,
    errors: ['form_not_found', 'integrity_failed'],
    handle: async ({ params, query, request, deps }) => {
      const onFormsHost = isOnFormsHost(deps.http, request);
      return deps.formPages.render(await deps.forms.open(params.form_id), { ...query, onFormsHost });
    },
  });

const removeForm = (place: FormPlace): Route =>
  defineRoute({
    ...COMMON,
    method: 'DELETE',
    path: `${place.path}/{form_id}`,
    operationId: `delete${place.suffix}Form`,
    summary: 'Delete a hosted form',
    description: 'Deletes a form of the account immediately and releases its id.',
    auth: 'basic',
    params: FormPath,
    query: NO_QUERY,
    body: { kind: 'none' },
    response: Message,
    errors: ['form_not_found', 'integrity_failed'],
    audit: { action: 'form.delete', of: 'all', object: ({ params }) => objectOf('form', params.form_id) },
    handle: async ({ ctx, params, deps }) => {
      await deps.forms.remove(ctx, params.form_id);
      return { json: { message: 'The form was deleted.' } };
    },
  });

const formRoutes = (place: FormPlace): readonly Route[] =>
  [createForm, listForms, showForm, removeForm].map((route) => route(place));

/** The routes of hosted forms. */
export const FORM_ROUTES = [
  ...formRoutes({ path: '/v1/retrieve/iframe', suffix: '' }),
  ...formRoutes({ path: '/v1/capture/iframe', suffix: 'Capture' }),
];
