// Where labels go so that none covers another: each has a few places, and takes the first that is free.
const PER_LETTER = 6;
const HEIGHT = 13;

const overlaps = (one, other) =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

/** The room that a text takes around a point; wide letters count twice. */
function box(text, { x, y }) {
  const letters = Array.from(text).reduce((sum, letter) => sum + (letter.codePointAt(0) > 0x2e80 ? 2 : 1), 0);
  const half = (letters * PER_LETTER) / 2;
  return { left: x - half, right: x + half, top: y - HEIGHT + 3, bottom: y + 3 };
}

/**
 * Places for labels ([{ key, text, places }], the important ones first) beside what is taken, within the width.
 * What finds no place is left out.
 */
export function placed(labels, taken, width) {
  const boxes = taken.map(({ x, y, r }) => ({ left: x - r, right: x + r, top: y - r, bottom: y + r }));
  const found = new Map();
  for (const { key, text, places } of labels) {
    for (const place of places) {
      const room = box(text, place);
      if (room.left < 2 || room.right > width - 2 || boxes.some((other) => overlaps(room, other))) continue;
      boxes.push(room);
      found.set(key, place);
      break;
    }
  }
  return found;
}
