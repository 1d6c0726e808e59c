/** The React entry, `@cardvault/forms/react`: components that call the functions of the module in effects. */
import type { CSSProperties, ForwardedRef, ReactElement, ReactNode } from 'react';
import * as React from 'react';
// The name that the types have in the package; the script there imports ./vault-forms.js.
import type {
  ElementHandle,
  Elements,
  ElementsEvents,
  ElementsFailure,
  ElementsOptions,
  FieldChange,
  FieldOptions,
  FormEvents,
  FormHandle,
  FormOptions,
  RevealHandle,
  RevealOptions,
} from './index.js';
import { elements, mountCardForm, reveal } from './index.js';

/** A handler for each event, `onReady` for `ready`. Another one in a later render takes its place. */
export type Handlers<Events> = {
  readonly [Name in keyof Events & string as `on${Capitalize<Name>}`]?:
    | ((detail: Events[Name]) => void)
    | undefined;
};
/** Of the `div` that a frame fills. */
export interface PlaceProps {
  readonly className?: string | undefined;
  readonly style?: CSSProperties | undefined;
  readonly id?: string | undefined;
}
/** A single field. */
export type FieldProps = PlaceProps & FieldOptions & Handlers<Omit<ElementsEvents, 'submit'>>;
/** The options of `elements()`, and handlers for the events of all fields. */
export type VaultElementsProps = ElementsOptions &
  Handlers<ElementsEvents> & { readonly children?: ReactNode };
/** The options of `mountCardForm()`, and its events. */
export type VaultCardFormProps = PlaceProps & FormOptions & Handlers<FormEvents>;
/** The options of `reveal()`, and its events. */
export type RevealProps = PlaceProps & RevealOptions & Handlers<Pick<FormEvents, 'ready' | 'error'>>;

interface Made {
  on(name: never, listener: (detail: never) => void): () => void;
  destroy(): void;
}

const FIELD_EVENTS = ['ready', 'change', 'focus', 'blur', 'error'];
const NO_OPTION = /^(?:on[A-Z].*|className|style|id|children)$/;

function optionsOf<Options extends object>(props: Options): Options {
  return Object.fromEntries(Object.entries(props).filter(([name]) => !NO_OPTION.test(name))) as Options;
}

/** Makes something, again whenever the key changes, and destroys it. Its events go to the handlers of the last render. */
function useMade<Handle extends Made>(
  key: unknown,
  props: object,
  names: readonly string[],
  make: () => Handle | undefined,
): Handle | undefined {
  const latest = React.useRef(props);
  const [made, setMade] = React.useState<Handle>();
  React.useEffect(() => {
    latest.current = props;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for all that is made of it.
  React.useEffect(() => {
    const handle = make();
    const ends = names.map((name) =>
      handle?.on(name as never, (detail) =>
        Reflect.get(latest.current, `on${name.charAt(0).toUpperCase()}${name.slice(1)}`)?.(detail),
      ),
    );
    setMade(handle);
    return () => {
      for (const end of ends) {
        end?.();
      }
      handle?.destroy();
    };
  }, [key]);
  return made;
}

/** A `div` with what is mounted in it, whose handle the ref has once it is there. */
function usePlace<Handle>(
  key: unknown,
  props: PlaceProps,
  ref: ForwardedRef<Handle>,
  names: readonly string[],
  mount: (place: Element) => (Handle & Made) | undefined,
): ReactElement {
  const place = React.useRef<HTMLDivElement>(null);
  const handle = useMade(key, props, names, () => (place.current ? mount(place.current) : undefined));
  React.useImperativeHandle(ref, () => handle as Handle, [handle]);
  const { className, style, id } = props;
  return React.createElement('div', { ref: place, className, style, id });
}

interface Group {
  readonly group: Elements | undefined;
  readonly isReady: boolean;
}

const Context = React.createContext<Group | undefined>(undefined);

function useGroup(): Group {
  const found = React.useContext(Context);
  if (found === undefined) {
    throw new Error('Fields and useVault need <VaultElements> around them.');
  }
  return found;
}

/** A group that reports whether all its fields are ready. */
function openGroup(options: ElementsOptions, reportReady: (isReady: boolean) => void): Elements {
  const group = elements(options);
  const fields = new Map<FieldChange['field'], boolean>();
  const report = (): void => reportReady(fields.size > 0 && [...fields.values()].every(Boolean));
  group.on('ready', ({ field }) => {
    fields.set(field, true);
    report();
  });
  return {
    ...group,
    mount: (place, field, more) => {
      const handle = group.mount(place, field, more);
      fields.set(field, false);
      report();
      const destroy = (): void => {
        fields.delete(field);
        report();
        handle.destroy();
      };
      return { ...handle, destroy };
    },
    destroy: () => {
      group.destroy();
      fields.clear();
      report();
    },
  };
}

/** Makes one group of the fields inside. */
export function VaultElements(props: VaultElementsProps): ReactElement {
  const [isReady, setReady] = React.useState(false);
  const options = optionsOf<ElementsOptions>(props);
  const make = (): Elements => openGroup(options, setReady);
  const group = useMade(JSON.stringify(options), props, [...FIELD_EVENTS, 'submit'], make);
  const value = React.useMemo(() => ({ group, isReady }), [group, isReady]);
  return React.createElement(Context.Provider, { value }, props.children);
}

/** Of the `<VaultElements>` around: what stores its fields, and whether all of them can be used. */
export function useVault(): { readonly submit: Elements['submit']; readonly isReady: boolean } {
  const { group, isReady } = useGroup();
  const missing = { status: 0, code: 'elements_missing' } satisfies ElementsFailure;
  return { submit: group?.submit ?? (() => Promise.reject(missing)), isReady };
}

/** A field of the group around; the ref has its handle. */
function fieldOf(field: FieldChange['field']) {
  return React.forwardRef<ElementHandle, FieldProps>((props, ref) => {
    const { group } = useGroup();
    const { networks } = props;
    const made = React.useMemo(() => ({ group, networks }), [group, networks]);
    return usePlace(made, props, ref, FIELD_EVENTS, (place) => {
      const on: Elements['on'] = (name, listener) =>
        (group as Elements).on(
          name,
          (detail) => 'field' in detail && detail.field === field && listener(detail),
        );
      return group && { ...group.mount(place, field, { networks }), on };
    });
  });
}

/** The number of a card. */
export const CardNumber = fieldOf('card-number');
/** Its expiry. */
export const CardExpiry = fieldOf('card-expiry');
/** Its security code. */
export const CardCvc = fieldOf('card-cvc');
/** The name on it. */
export const CardHolder = fieldOf('card-holder');
/** The number of a bank account. */
export const Iban = fieldOf('iban');

/** A whole form. */
export const VaultCardForm = React.forwardRef<FormHandle, VaultCardFormProps>((props, ref) => {
  const options = optionsOf<FormOptions>(props);
  const mount = (place: Element): FormHandle => mountCardForm(place, options);
  return usePlace(JSON.stringify(options), props, ref, ['ready', 'height', 'success', 'error'], mount);
});

/** A value of a stored item, hidden until its button is pressed. */
export const Reveal = React.forwardRef<RevealHandle, RevealProps>((props, ref) => {
  const options = optionsOf<RevealOptions>(props);
  return usePlace(JSON.stringify(options), props, ref, ['ready', 'error'], (place) => reveal(place, options));
});
