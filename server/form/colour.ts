/** The names of CSS Color 4: colours, and those of the system. */
const NAMES: ReadonlySet<string> = new Set(
  `aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet brown burlywood
cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan darkgoldenrod darkgray
darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon darkseagreen
darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray dimgrey dodgerblue
firebrick floralwhite forestgreen fuchsia gainsboro ghostwhite gold goldenrod gray green greenyellow grey honeydew
hotpink indianred indigo ivory khaki lavender lavenderblush lawngreen lemonchiffon lightblue lightcoral lightcyan
lightgoldenrodyellow lightgray lightgreen lightgrey lightpink lightsalmon lightseagreen lightskyblue lightslategray
lightslategrey lightsteelblue lightyellow lime limegreen linen magenta maroon mediumaquamarine mediumblue mediumorchid
mediumpurple mediumseagreen mediumslateblue mediumspringgreen mediumturquoise mediumvioletred midnightblue mintcream
mistyrose moccasin navajowhite navy oldlace olive olivedrab orange orangered orchid palegoldenrod palegreen
paleturquoise palevioletred papayawhip peachpuff peru pink plum powderblue purple rebeccapurple red rosybrown royalblue
saddlebrown salmon sandybrown seagreen seashell sienna silver skyblue slateblue slategray slategrey snow springgreen
steelblue tan teal thistle tomato turquoise violet wheat white whitesmoke yellow yellowgreen transparent currentcolor
accentcolor accentcolortext activetext buttonborder buttonface buttontext canvas canvastext field fieldtext graytext
highlight highlighttext linktext mark marktext selecteditem selecteditemtext visitedtext`.split(/\s+/),
);

const NUMBER = '-?(?:[0-9]+(?:\\.[0-9]+)?|\\.[0-9]+)';
const PERCENT = `${NUMBER}%`;
const HUE = `${NUMBER}(?:deg)?`;
const EITHER = `${NUMBER}%?`;

/** A function with three values, separated by commas or by blanks, and an opacity. */
function functionOf(name: string, first: string, second: string, third: string): string {
  const commas = `${[first, second, third].join(', ?')}(?:, ?${EITHER})?`;
  return `${name}a?\\( ?${commas} ?\\)`;
}

function spacedOf(name: string, first: string, other: string): string {
  return `${name}a?\\( ?${first} ${other} ${other}(?: / ${EITHER})? ?\\)`;
}

const NOTATION = new RegExp(
  `^(?:${[
    '#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})',
    functionOf('rgb', NUMBER, NUMBER, NUMBER),
    functionOf('rgb', PERCENT, PERCENT, PERCENT),
    functionOf('hsl', HUE, PERCENT, PERCENT),
    spacedOf('rgb', EITHER, EITHER),
    spacedOf('hsl', HUE, PERCENT),
  ].join('|')})$`,
  'i',
);

/** Returns whether a text is a colour that every browser knows. */
export function isColour(text: string): boolean {
  return NAMES.has(text.toLowerCase()) || NOTATION.test(text);
}
