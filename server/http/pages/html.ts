/** The style of small pages, with the colours of the guide. */
export const BASE_STYLE = `
:root { color-scheme: light dark; --back: light-dark(#fff, #0f0f0f); --line: light-dark(#dfdfdf, #2d2d2d); --edge: light-dark(#8a8a8a, #737373); --soft: light-dark(#636363, #a4a4a4); --link: light-dark(#0069a8, #5cb8f0); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: light-dark(#1b1b1b, #e7e7e7); font: 16px/26px Inter, ui-sans-serif, system-ui, sans-serif; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
`;

/** A page in English; `head` and `body` are markup. */
export function htmlPage(title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${title}</title>
${head}
</head>
<body>
${body}
</body>
</html>
`;
}

/** The Content-Security-Policy of a page that may load only what is named here, and is in no frame. */
export function pagePolicy(allowed: Readonly<Record<string, string>>): string {
  return [
    "default-src 'none'",
    ...Object.entries(allowed).map(([directive, sources]) => `${directive} ${sources}`),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
