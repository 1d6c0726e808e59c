import { useId, useRef, useState } from 'preact/hooks';
import { T } from '../app/text.ts';

/** Reads a file as base64. */
function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(',')[1] ?? '');
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** The logo of a form: the value of a hidden field, as base64. */
export function LogoField({
  name,
  logo = '',
}: {
  readonly name: string;
  readonly logo?: string | undefined;
}) {
  const id = useId();
  const value = useRef<HTMLInputElement>(null);
  const file = useRef<HTMLInputElement>(null);
  const [isSet, setIsSet] = useState(logo !== '');
  const change = (text: string): void => {
    if (value.current !== null) {
      value.current.value = text;
      value.current.dispatchEvent(new Event('change', { bubbles: true }));
    }
    setIsSet(text !== '');
  };
  return (
    <div class="field">
      <label for={id}>{T.forms.logo}</label>
      <input
        id={id}
        ref={file}
        type="file"
        accept="image/png,image/jpeg,image/gif,image/webp,image/svg+xml"
        aria-describedby={`${id}-hint`}
        onChange={async (event) => {
          // The hidden field changes once the file is read.
          event.stopPropagation();
          const [chosen] = event.currentTarget.files ?? [];
          if (chosen !== undefined) {
            change(await base64Of(chosen));
          }
        }}
      />
      <input ref={value} type="hidden" name={name} defaultValue={logo} />
      <p class="hint" id={`${id}-hint`}>
        {T.forms.logoHint}
      </p>
      {isSet && (
        <p class="line">
          <button
            type="button"
            class="small"
            onClick={() => {
              if (file.current !== null) {
                file.current.value = '';
              }
              change('');
            }}
          >
            {T.forms.logoRemove}
          </button>
        </p>
      )}
    </div>
  );
}
