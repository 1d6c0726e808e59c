/**
 * A page of a merchant who has React, as the text of a program that uses all of `@cardvault/forms/react`. It shows what
 * it is told to by `show`, under StrictMode, and keeps what it hears.
 */
export const REACT_PAGE = `
import type { ElementHandle, ElementsOptions, FormHandle, FormOptions, RevealHandle, RevealOptions } from '@cardvault/forms';
import { type ReactElement, StrictMode, useRef } from 'react';
import { createRoot } from 'react-dom/client';
import {
  CardCvc, CardExpiry, CardHolder, CardNumber, type FieldProps, Iban, Reveal, useVault, VaultCardForm, VaultElements,
} from '@cardvault/forms/react';

interface View {
  readonly round: number;
  readonly group?: ElementsOptions;
  readonly iban?: boolean;
  readonly form?: FormOptions;
  readonly reveal?: RevealOptions;
}

declare global {
  var heard: [string, unknown][];
  var show: (view: View) => void;
}

globalThis.heard = [];
const hear = (name: string) => (detail: unknown): void => { heard.push([name, detail]); };

function Pay(): ReactElement {
  const { submit, isReady } = useVault();
  const pay = (): void => { submit().then(({ token, reference }) => hear('reply')({ token, reference }), hear('failed')); };
  return <button disabled={!isReady} onClick={pay}>Pay</button>;
}

function Checkout({ round, group, iban = false }: View & { readonly group: ElementsOptions }): ReactElement {
  const number = useRef<ElementHandle>(null);
  const place: FieldProps = { className: 'field', style: { marginTop: round } };
  return (
    <VaultElements theme={{ color: '#123456' }} {...group} onSubmit={hear('submit')} onError={hear('error')}>
      <CardNumber {...place} id="number" ref={number} onChange={({ state }) => hear('change')([round, state])}
        onReady={hear('ready')} onFocus={hear('focus')} onBlur={hear('blur')} onError={({ field }) => hear('own error')(field)} />
      <CardExpiry {...place} id="expiry" />
      <CardCvc {...place} id="cvc" />
      <CardHolder {...place} id="holder" />
      {iban && <Iban {...place} id="iban" />}
      <Pay />
      <button onClick={() => number.current?.focus()}>Number</button>
    </VaultElements>
  );
}

function Page({ view }: { readonly view: View }): ReactElement {
  const form = useRef<FormHandle>(null);
  const shown = useRef<RevealHandle>(null);
  const { group } = view;
  return (
    <>
      {group && <Checkout {...view} group={group} />}
      {view.form && <VaultCardForm {...view.form} ref={form} id="form" onHeight={({ height }) => hear('height')(height > 0)}
        onSuccess={({ reference }) => hear('success')(reference)} onError={({ code }) => hear('form error')(code)} />}
      {view.form && <button onClick={() => form.current?.submit()}>Send</button>}
      {view.reveal && <Reveal {...view.reveal} ref={shown} className="field" onReady={() => hear('shown')(shown.current?.iframe.title)} />}
    </>
  );
}

const root = createRoot(document.querySelector('main')!);
globalThis.show = (view) => root.render(<StrictMode><Page view={view} /></StrictMode>);
`;
