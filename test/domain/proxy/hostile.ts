const specials = [
  ...`" ' </x> <x/> <!-- --> -- <![CDATA[ ]]> ]] > ] & &amp; &#10; &lt = == % %00 %0d%0a %26 + 😀 👨‍👩‍👧 é 漢字 א {
  } {{ }} {{x}} {{{x}}} {{#x}} {{/x}} , : ; ? # @ / // .. . * ~ ! ( $ | ^ [ ] < null true 0 -0 1e400 012
  __proto__ constructor ","admin":true,"x":" "}]} &admin=true a=b&c=d <?xml?> &x; $x $1 javascript:alert(1)`.split(
    /\s+/,
  ),
  '\\',
  '\\"',
  '\\\\"',
  ' ',
  '  ',
  '\n',
  '\t',
  '\r',
  '\r\n',
  '\u2028',
  '\u2029',
  '\u0085',
  '\u00a0',
  '\ufeff',
  'e\u0301',
  '`',
  '<!DOCTYPE a>',
  "' or '1'='1",
  '\u007f',
  '\ue000',
];

/** 200 texts that would break a body, a URL or a header if they were put in as they are. */
export const HOSTILE: readonly string[] = [
  ...new Set([
    ...specials,
    ...specials.map((text) => `a${text}b`),
    ...specials.map((text) => text.repeat(3)),
  ]),
].slice(0, 200);

/** Texts that XML cannot hold, but the other formats can. */
export const NOT_IN_XML: readonly string[] = [
  '\u0000',
  '\u0001',
  '\u001f',
  '\ufffe',
  '\uffff',
  'a\ud800',
  '\udc00',
];
