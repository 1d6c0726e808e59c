import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FormSettings, Form as HostedForm } from '../../sdk/transport/types.ts';
import { useLoad } from '../app/load.ts';
import { notify } from '../app/notice.ts';
import { goTo, linkTo } from '../app/route.ts';
import { formColours, formFields, formLocales } from '../app/schema.macro.ts' with { type: 'macro' };
import type { ScreenProps, Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { FIELDS as FIELD_WORDS, languageOf } from '../app/words.ts';
import { choice } from '../ui/fields.tsx';
import { type Entered, enteredIn, type Field, Form } from '../ui/form.tsx';
import { jsonIn } from '../ui/json.ts';
import { Copy, Failure, Loaded, Panel, Screen } from '../ui/parts.tsx';
import { type FormType, usePreview } from './form-draft.ts';
import { type ExtraField, ExtraFields, extraOf, fieldsIn, isComplete } from './form-extra.tsx';
import { LogoField } from './form-logo.tsx';

const FLAGS = ['force_keypad', 'hide_card', 'highlight_fields', 'disable_luhn', 'strip_spaces'] as const;
const COLOURS = ['primary_color', 'card_primary_color', 'success_color', 'error_color'] as const;
const LOGO = 'logo_image';
const CHOICES = [
  ['display_mode', ['standalone', 'embedded']],
  ['color_mode', ['light', 'dark', 'auto']],
  ['locale', formLocales()],
] as const;
const FIELDS = formFields();
const DEFAULT_COLOURS = formColours();

const { names } = T.forms;

/** The label of a choice; for a language its English name. */
function labelOf(value: string): string {
  const known: Readonly<Record<string, string>> = T.forms.choices;
  return known[value] ?? languageOf(value);
}

/** The fields of the builder, with the settings of a form. */
function fieldsFor(type: FormType, settings: FormSettings): Field[] {
  const hidden = FIELDS[type].filter((name) => settings.field_options?.[name]?.visible === false);
  const { theme } = settings;
  return [
    choice('style', names.style, ['vault', 'modern'], theme?.style, T.forms.defaults.style, labelOf),
    ...CHOICES.map(([name, values]) =>
      choice(name, names[name], values, settings[name], T.forms.defaults[name], labelOf),
    ),
    ...COLOURS.map(
      (name): Field => ({
        ...{ name, label: names[name], kind: 'colour', value: theme?.[name] ?? '' },
        placeholder: DEFAULT_COLOURS[settings.color_mode === 'dark' ? 'dark' : 'light'][name],
      }),
    ),
    ...FLAGS.map(
      (name): Field => ({ name, label: names[name], kind: 'checkbox', value: settings[name] === true }),
    ),
    ...(FIELDS[type].length > 0
      ? [
          {
            ...({ name: 'hidden', label: T.forms.hidden, kind: 'many', value: hidden.join() } as const),
            options: FIELDS[type].map((name) => [name, FIELD_WORDS[name]] as const),
          },
        ]
      : []),
    {
      ...{ name: 'frame_ancestors', label: names.frame_ancestors, hint: T.forms.originsHint },
      ...{ value: (settings.frame_ancestors ?? []).join(', '), isMore: true },
    },
    {
      name: 'other',
      label: T.forms.more,
      kind: 'textarea',
      hint: T.forms.moreHint,
      value: otherText(settings),
      isMore: true,
    },
  ];
}

const SHOWN = [
  ...FLAGS,
  ...CHOICES.map(([name]) => name),
  'theme',
  'field_options',
  'additional_fields',
  'frame_ancestors',
];

/** Settings without a field, as JSON. */
function otherText(settings: FormSettings): string {
  const others = Object.entries(settings).filter(
    ([name]) => !SHOWN.includes(name) && !['id', 'url', 'form_type'].includes(name),
  );
  return others.length === 0 ? '' : JSON.stringify(Object.fromEntries(others), null, 2);
}

/** The entered settings; those without a field stay. */
function settingsIn(
  { text, isOn, list }: Entered,
  before: FormSettings,
  extra: readonly ExtraField[],
): FormSettings {
  const chosen = CHOICES.map(([name]) => [name, text(name)] as const);
  const flags = FLAGS.map((name) => [name, isOn(name) || undefined] as const);
  const theme = ['style', ...COLOURS, LOGO].map((name) => [name, text(name)] as const);
  const hidden = list('hidden');
  const options = Object.entries(before.field_options ?? {}).map(
    ([name, option]) => [name, { ...option, visible: hidden.includes(name) ? false : undefined }] as const,
  );
  const ancestors = list('frame_ancestors');
  return {
    ...Object.fromEntries([...chosen, ...flags]),
    theme: { ...before.theme, ...Object.fromEntries(theme) },
    field_options: {
      ...Object.fromEntries(options),
      ...Object.fromEntries(
        hidden.map((name) => [name, { ...before.field_options?.[name], visible: false }]),
      ),
    },
    additional_fields: fieldsIn(extra),
    ...(ancestors.length > 0 && { frame_ancestors: ancestors }),
    ...(jsonIn(text('other') ?? '{}') as FormSettings),
  } as FormSettings; // The vault checks them, and names the place of an error.
}

/**
 * The sandbox of the preview: as in a page, with an origin if forms have a separate host. It opens no windows, and does
 * not navigate the console.
 */
function sandboxOf(url: string): string {
  const isElsewhere = new URL(url, location.origin).origin !== location.origin;
  return `allow-scripts allow-forms${isElsewhere ? ' allow-same-origin' : ''}`;
}

/** The markup with which a page shows the form. */
function snippetOf(origin: string, id: string): string {
  return `<script type="module" src="${origin}/forms/vault-forms.js"></script>
<vault-card-form form="${id}" url="THE_URL_OF_AN_ENDPOINT" secret="ITS_SECRET"></vault-card-form>`;
}

/** A height that no form needs. */
const HEIGHT_MAX = 2_000;

/** The height of a form in a message of its page. */
function heightIn(data: unknown): number | undefined {
  const { type, height }: { readonly type?: unknown; readonly height?: unknown } = Object(data);
  return type === 'vault.height' && typeof height === 'number' && height > 0
    ? Math.min(height, HEIGHT_MAX)
    : undefined;
}

/** The frame of the preview, as high as the form in it. */
function PreviewFrame({ url }: { readonly url: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState<number>();
  useLayoutEffect(() => {
    const hear = ({ source, data }: MessageEvent): void => {
      const told = source === frame.current?.contentWindow ? heightIn(data) : undefined;
      setHeight((before) => told ?? before);
    };
    addEventListener('message', hear);
    return () => removeEventListener('message', hear);
  }, []);
  return (
    <iframe
      ref={frame}
      class="preview"
      style={height === undefined ? undefined : { height: `${height}px` }}
      sandbox={sandboxOf(url)}
      src={url}
      title={T.forms.preview}
    />
  );
}

function Builder({ session, form }: { session: Session; form: Partial<HostedForm> }) {
  const { client, may, origins } = session;
  const [type, setType] = useState<FormType>(form.form_type ?? 'pcd');
  const [changed, setChanged] = useState<FormSettings>();
  const [extra, setExtra] = useState(extraOf(form.additional_fields));
  // The preview follows an input in a row before it is rendered.
  const latest = useRef(extra);
  const place = useRef<HTMLDivElement>(null);
  const preview = usePreview(session, form, type, changed);
  const save = async (entered: Entered): Promise<void> => {
    const entries = settingsIn(entered, form, extra);
    if (form.id === undefined) {
      const made = await client.forms.create({
        ...{ ...entries, form_type: type },
        form_id: entered.text('form_id'),
      });
      goTo('form', { id: made.id });
    } else {
      await client.forms.replace({ ...entries, form_id: form.id });
    }
    notify(T.forms.saved);
  };
  const follow = (): void => {
    const inner = place.current?.querySelector('form');
    if (!latest.current.every(isComplete)) {
      return;
    }
    try {
      inner && setChanged(settingsIn(enteredIn(inner), form, latest.current));
    } catch {
      // The JSON is incomplete. The preview follows once it is complete.
    }
  };
  return (
    <div class="halves">
      <Panel title={T.forms.settings}>
        {form.id === undefined && (
          <label class="field first">
            {T.forms.type}
            <select value={type} onChange={({ currentTarget: { value } }) => setType(value as FormType)}>
              {Object.entries(T.forms.types).map(([each, label]) => (
                <option key={each} value={each}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        )}
        {/* `change`, not `input`: each update of the preview is an entry of the security log. */}
        <div ref={place} onChange={follow}>
          <Form
            key={type}
            fields={[
              ...(form.id === undefined
                ? [{ name: 'form_id', label: T.forms.id, hint: T.endpoints.idHint }]
                : []),
              ...fieldsFor(type, form),
            ]}
            send={T.forms.save}
            onSend={save}
          >
            <LogoField name={LOGO} logo={form.theme?.logo_image} />
            <ExtraFields
              fields={extra}
              setFields={(fields) => {
                latest.current = fields;
                setExtra(fields);
                if (fields.length !== extra.length) {
                  follow();
                }
              }}
            />
          </Form>
        </div>
      </Panel>
      <div class="beside">
        <Panel title={T.forms.preview}>
          {preview.error !== undefined && <Failure error={preview.error} />}
          {preview.url !== undefined && <PreviewFrame url={preview.url} />}
          <p class="soft">{T.forms.draft}</p>
        </Panel>
        {form.id !== undefined && (
          <Panel title={T.forms.snippet} actions={<Copy text={snippetOf(origins.api, form.id)} />}>
            <pre>{snippetOf(origins.api, form.id)}</pre>
            {may('capture:write') && (
              <p>
                {T.forms.needsEndpoint} <a href={linkTo('capture')}>{T.endpoints.capture}</a>
              </p>
            )}
          </Panel>
        )}
      </div>
    </div>
  );
}

/** A hosted form, or a new one, with a preview. */
export function FormScreen({ session, params: { id } }: ScreenProps) {
  const { client } = session;
  const form = useLoad<Partial<HostedForm>>(
    async () => (id === undefined ? {} : client.forms.get({ form_id: id })),
    [id],
  );
  return (
    <Screen
      title={id === undefined ? T.forms.builder : `${T.forms.builder}: ${id}`}
      up={[linkTo('forms'), T.forms.title]}
    >
      <Loaded of={form}>{(found) => <Builder key={id} session={session} form={found} />}</Loaded>
    </Screen>
  );
}
