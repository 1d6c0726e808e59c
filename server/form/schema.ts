import {
  type SchemaOptions,
  type Static,
  type TNull,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnion,
  Type,
} from '@sinclair/typebox';

import { Identifier, NewIdentifier } from '../schema/common.ts';
import { EXPECTED, PUBLISHED } from '../schema/kinds.ts';

/** The names of the fields that each type of form has, in their order, before any additional ones. */
export const FORM_FIELDS = {
  pcd: ['card_number', 'card_holder', 'expiry', 'cvv'],
  ach: ['account_number', 'routing_number', 'account_type', 'account_holder'],
  custom: [],
} as const satisfies Readonly<Record<FormTypeName, readonly string[]>>;

/** Names that a form posts in addition to its fields; no additional field may have such a name either. */
export const POSTED_BESIDE = {
  pcd: ['expiry_month', 'expiry_year', 'expiry_year_short', 'card_type', 'last_four'],
  ach: ['last_four'],
  custom: [],
} as const satisfies Readonly<Record<FormTypeName, readonly string[]>>;

/** The kinds of hosted forms; the form names itself when it sends what was typed. */
export const FormType = Type.Union(
  (['pcd', 'ach', 'custom'] as const).map((name) => Type.Literal(name)),
  { description: 'The type of hosted form that sends the data; the action log then has the source `form`.' },
);

export type FormTypeName = Static<typeof FormType>;

/** The languages that forms speak. */
export const FORM_LOCALES = ['en', 'es', 'fr', 'de', 'ar'] as const;

const FIELD_NAME = '^(?!(?:__proto__|constructor|prototype)$)[A-Za-z0-9_.-]{1,64}$';
/** The form of a colour; `isColour` also knows names and functions. */
const COLOUR =
  '^(?:#(?:[0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})|(?:rgb|hsl)a?\\( ?-?[0-9.]{1,9}(?:%|deg)?(?:(?:, ?| / | )-?[0-9.]{1,9}%?){2,3} ?\\)|[A-Za-z]{3,24})$';
export const COLOUR_EXPECTED = 'must be a colour: `#rgb`, `#rrggbb`, `rgb()`, `hsl()` or a name';
/** The length of 64 KB and 256 KB in base64 with line breaks. */
const TEXT_CHARACTERS_MAX = 90_000;
const LOGO_CHARACTERS_MAX = 360_000;

/** A text of a fixed list. */
export function literals<const Literals extends readonly string[]>(
  list: Literals,
  options: SchemaOptions & { readonly default?: Literals[number] } = {},
) {
  const union = Type.Union(
    list.map((word) => Type.Literal(word)),
    options,
  );
  return Type.Unsafe<Literals[number]>(union);
}

function flag(description: string) {
  return Type.Boolean({ description });
}

function links(what: string) {
  return Type.Array(
    Type.String({
      maxLength: 2048,
      examples: ['https://cdn.example/form.css'],
      description:
        'An https URL. A hash after `#`, such as `#sha384-…`, becomes the `integrity` attribute: a file with another hash is not loaded.',
    }),
    { maxItems: 20, description: `${what}, in this order.` },
  );
}

function code(description: string) {
  return Type.String({
    maxLength: TEXT_CHARACTERS_MAX,
    description: `${description} At most 64 KB of UTF-8, in base64.`,
  });
}

function colour(of: string) {
  return Type.String({
    pattern: COLOUR,
    [EXPECTED]: COLOUR_EXPECTED,
    maxLength: 64,
    examples: ['#0055cc'],
    description: `Colour of ${of}: \`#rgb\`, \`#rrggbb\`, \`rgb()\`, \`hsl()\` or a name.`,
  });
}

const FIELD_OPTION = {
  validate: flag('False: the field accepts any input.'),
  visible: flag('False: the form does not have the field.'),
};

const COLOURS = {
  primary_color: colour('the button and of the focused field'),
  card_primary_color: colour('the sample card'),
  card_shadow_color: colour("the sample card's shadow"),
  success_color: colour('success messages'),
  error_color: colour('error messages'),
};

const THEME = {
  style: literals(['vault', 'modern'], { description: 'The base style. Default: `vault`.' }),
  ...COLOURS,
  logo_image: Type.String({
    maxLength: LOGO_CHARACTERS_MAX,
    description: 'A PNG, JPEG, GIF, WebP or SVG image of at most 256 KB, in base64.',
  }),
};

export const ADDITIONAL_TYPES = [
  'text',
  'email',
  'tel',
  'postal-code',
  'country',
  'select',
  'checkbox',
] as const;

const AdditionalField = Type.Object(
  {
    name: Type.String({
      pattern: FIELD_NAME,
      [EXPECTED]: 'must have 1 to 64 letters, digits or characters of `_.-`',
      [PUBLISHED]: {
        pattern: '^[A-Za-z0-9_.-]{1,64}$',
        not: { enum: ['__proto__', 'constructor', 'prototype'] },
      },
      examples: ['order_note'],
      description:
        "The member name in the stored object. It must differ from the names of the form's own fields.",
    }),
    label: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        examples: ['Note'],
        description: 'The label above the field. Default: its name.',
      }),
    ),
    required: Type.Optional(flag('Whether the field must be filled in. Default: false.')),
    type: Type.Optional(
      literals(ADDITIONAL_TYPES, {
        description:
          'What is typed: it decides the keyboard, autofill and the check. `select` needs `options`; `country` lists countries by their ISO 3166-1 codes; `checkbox` stores `true`. Default: `text`.',
      }),
    ),
    options: Type.Optional(
      Type.Array(
        Type.Union([
          Type.String({ minLength: 1, maxLength: 200 }),
          Type.Object({
            value: Type.String({ minLength: 1, maxLength: 200, description: 'What is stored.' }),
            label: Type.String({ minLength: 1, maxLength: 200, description: 'What is shown.' }),
          }),
        ]),
        { minItems: 1, maxItems: 200, description: 'The choices of a `select`.' },
      ),
    ),
  },
  { $id: 'FormAdditionalField' },
);

const OWN = {
  css_links: links('Style sheets that the form loads'),
  js_links: links('Scripts that the form loads'),
  embedded_css: code('Style rules of the form.'),
  embedded_js: code('A script of the form. It can read the entered data.'),
  require_corp: flag(
    'Whether the form is loaded with Cross-Origin-Embedder-Policy: require-corp. Linked files must then come with Cross-Origin-Resource-Policy: cross-origin.',
  ),
  success_callback: code('A JavaScript function that is called with the reply after the data was stored.'),
  error_callback: code(
    'A JavaScript function that is called with `{ status, code, error }` if the data was not stored.',
  ),
  display_mode: literals(['standalone', 'embedded'], {
    description:
      '`standalone` (default) is a complete page; `embedded` has no background and no frame, and a heading only if `title` is set.',
  }),
  force_keypad: flag('Whether digits can only be entered with an on-screen keypad in random order.'),
  hide_card: flag('Whether the sample card is hidden.'),
  highlight_fields: flag(
    'Whether the part of the sample card that belongs to the focused field is highlighted.',
  ),
  disable_luhn: flag('Turns off all validation.'),
  strip_spaces: flag('Whether the card number is sent without spaces.'),
  locale: literals(FORM_LOCALES, {
    description: 'The language of the form. Default: the language of the browser.',
  }),
  frame_ancestors: Type.Array(
    Type.String({
      maxLength: 300,
      examples: ['https://shop.example'],
      description: 'An https origin: scheme, host and port.',
    }),
    { maxItems: 20, description: 'The origins whose pages may embed the form. Default, and if empty: any.' },
  ),
  additional_fields: Type.Array(AdditionalField, {
    maxItems: 32,
    description: 'Fields after those of the type.',
  }),
  success_url: Type.String({
    maxLength: 2048,
    examples: ['https://shop.example/thanks'],
    description:
      'Where a form that was opened by itself goes after the data was stored, with `token` and `reference` as parameters. Its origin must be one of `frame_ancestors`.',
  }),
  color_mode: literals(['light', 'dark', 'auto'], {
    description: '`light` (default) or `dark` colours; `auto` follows the preference of the user.',
  }),
};

/** Lets every member be null, which means the same as leaving it out. */
type Nullable<Members extends TProperties> = {
  [Name in keyof Members]: TOptional<TUnion<[Members[Name], TNull]>>;
};

function nullable<Members extends TProperties>(members: Members): Nullable<Members> {
  return Object.fromEntries(
    Object.entries(members).map(([name, schema]) => [
      name,
      Type.Optional(Type.Union([schema, Type.Null()], { description: schema.description ?? '' })),
    ]),
  ) as Nullable<Members>;
}

function fieldOptions<Option extends TSchema>(option: Option) {
  return Type.Record(Type.String({ pattern: FIELD_NAME }), option, {
    maxProperties: 64,
    additionalProperties: false,
    [EXPECTED]:
      'must be an object of at most 64 field names, each of letters, digits and characters of `_.-`',
    description: 'Options by field name.',
  });
}

const THEME_OPTIONS = { description: 'Style, colours and logo.' };

/** The settings of a form in a request; null means omitted. The form service validates their content further. */
export const FormSettings = Type.Object(
  nullable({
    ...OWN,
    field_options: fieldOptions(Type.Union([Type.Object(nullable(FIELD_OPTION)), Type.Null()])),
    theme: Type.Object(nullable(THEME), THEME_OPTIONS),
  }),
  {
    $id: 'FormSettings',
    examples: [
      {
        display_mode: 'embedded',
        color_mode: 'auto',
        frame_ancestors: ['https://shop.example'],
        theme: { style: 'modern', primary_color: '#0055cc' },
      },
    ],
  },
);
export type FormSettings = Static<typeof FormSettings>;

const SHOWN = Type.Partial(
  Type.Object({
    ...OWN,
    field_options: fieldOptions(Type.Partial(Type.Object(FIELD_OPTION))),
    theme: Type.Partial(Type.Object(THEME, THEME_OPTIONS)),
  }),
);
/** The settings of a form without omitted ones. */
export type ShownFormSettings = Static<typeof SHOWN>;

/** Every member of the settings, in the order in which a reply has them. */
export const SETTING_NAMES = Object.keys(SHOWN.properties) as readonly (keyof ShownFormSettings)[];
export const COLOUR_NAMES = Object.keys(COLOURS) as readonly (keyof typeof COLOURS)[];
export const THEME_NAMES = Object.keys(THEME) as readonly (keyof typeof THEME)[];

export const FormId = Identifier('Identifier of the form, unique over all accounts.');

export const CreateFormQuery = Type.Object({
  form_type: Type.Union(FormType.anyOf, {
    default: 'pcd',
    description:
      'The data that the form asks for: a card (`pcd`), a bank account (`ach`), or only additional fields (`custom`).',
  }),
  // URLs cannot contain `.` and `..` as a segment.
  form_id: Type.Optional(
    NewIdentifier('The identifier of the new form; random if omitted. If any account uses it: 409.'),
  ),
});
export type CreateFormQuery = Static<typeof CreateFormQuery>;

export const FormQuery = Type.Object({ form_id: Type.Optional(FormId) });

/** Any other text is a form that does not exist. */
export const FormPath = Type.Object({ form_id: FormId });

export const ShowFormQuery = Type.Object({
  testing: Type.Boolean({
    default: false,
    description: 'Whether the form stores to and reads from the staging environment.',
  }),
  title: Type.Optional(Type.String({ maxLength: 200, description: 'The title of the page.' })),
});

export const Form = Type.Object(
  {
    id: FormId,
    url: Type.String({
      description: 'The location of the form: a path, or a complete URL if forms have their own host.',
      examples: ['/v1/retrieve/iframe/checkout'],
    }),
    form_type: FormType,
    ...SHOWN.properties,
  },
  { $id: 'Form' },
);
export type Form = Static<typeof Form>;

const FormList = Type.Array(Form, { $id: 'FormList', description: 'In ascending order of id.' });

export const FormsReply = Type.Union([Form, FormList], {
  $id: 'FormsReply',
  description: 'With `id` that form, otherwise all forms.',
});

export const HtmlPage = Type.String({ description: 'An HTML page.' });

export interface PageField {
  readonly name: string;
  readonly label: string;
  readonly required: boolean;
  readonly type: (typeof ADDITIONAL_TYPES)[number];
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

/** The settings of a form for its page, with defaults for omitted ones. */
export interface PageSettings {
  readonly display_mode: 'standalone' | 'embedded';
  readonly force_keypad: boolean;
  readonly hide_card: boolean;
  readonly highlight_fields: boolean;
  readonly disable_luhn: boolean;
  readonly strip_spaces: boolean;
  readonly field_options: Readonly<
    Record<string, { readonly validate?: boolean | null; readonly visible?: boolean | null }>
  >;
  readonly additional_fields: readonly PageField[];
  readonly theme: {
    readonly style: 'vault' | 'modern';
    readonly primary_color?: string;
    readonly card_primary_color?: string;
    readonly card_shadow_color?: string;
    readonly success_color?: string;
    readonly error_color?: string;
    /** A data: URL. */
    readonly logo_image?: string;
  };
  readonly color_mode: 'light' | 'dark' | 'auto';
  /** Null: the language of the browser, or English. */
  readonly locale: (typeof FORM_LOCALES)[number] | null;
  /** Origins; none means any. */
  readonly frame_ancestors: readonly string[];
  /** Empty: the form shows that it is done. */
  readonly success_url: string;
}

/** The endpoint of a page that was created together with one. */
export interface PageVisit {
  readonly unique_id: string;
  readonly secret: string;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
}

/** The content of `<script type="application/json" id="vault-form">` of a form page. */
export interface PageConfig {
  readonly form_type: FormTypeName;
  /** The origin of the API. */
  readonly api: string;
  readonly testing: boolean;
  readonly title?: string | undefined;
  readonly settings: PageSettings;
  readonly visit?: PageVisit | undefined;
}
