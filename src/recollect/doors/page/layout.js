// Where the nodes of a small graph go: springs along edges, all nodes pushing each other apart. Nothing is left
// to chance, so that the same memory always looks the same.
const STEPS = 320;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/** Positions for nodes (ids, the first one in the centre) and edges ([id, id]) filling width × height. */
export function layout(ids, edges, width, height) {
  const ideal = 0.9 * Math.sqrt((width * height) / Math.max(4, ids.length));
  const nodes = ids.map((id, number) => {
    const distance = ideal * Math.sqrt(number) * 0.7;
    return { id, x: distance * Math.cos(number * GOLDEN), y: distance * Math.sin(number * GOLDEN) };
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const springs = edges.map(([one, other]) => [byId.get(one), byId.get(other)]);
  for (let step = 0; step < STEPS; step++) {
    relax(nodes, springs, ideal, width / height, (1 - step / STEPS) * ideal * 0.25);
  }
  turn(nodes, springs);
  return fitted(nodes, width, height);
}

/** Most edges point to the right, as one reads. */
function turn(nodes, springs) {
  const leftward = springs.reduce((sum, [from, to]) => sum + from.x - to.x, 0) > 0;
  if (leftward) nodes.forEach((node) => (node.x = -node.x));
}

function relax(nodes, springs, ideal, aspect, furthest) {
  const forces = new Map(nodes.map((node) => [node, { x: (-node.x / aspect) * 0.06, y: -node.y * aspect * 0.06 }]));
  const push = (one, other, strength) => {
    const x = one.x - other.x, y = one.y - other.y;
    const distance = Math.max(1, Math.hypot(x, y));
    const force = strength(distance) / distance;
    const [a, b] = [forces.get(one), forces.get(other)];
    a.x += x * force, a.y += y * force, b.x -= x * force, b.y -= y * force;
  };
  nodes.forEach((one, place) => nodes.slice(place + 1).forEach((other) => push(one, other, (far) => (ideal * ideal) / far)));
  springs.forEach(([one, other]) => push(one, other, (far) => -(far * far) / ideal));
  nodes.slice(1).forEach((node) => {
    const force = forces.get(node);
    const length = Math.max(1e-9, Math.hypot(force.x, force.y));
    const step = Math.min(length, furthest) / length;
    node.x += force.x * step;
    node.y += force.y * step;
  });
}

/** Moved and stretched into the room that there is. */
function fitted(nodes, width, height) {
  const fit = (values, room) => {
    const least = Math.min(...values), most = Math.max(...values);
    const scale = most - least > 1 ? room / (most - least) : 1;
    return (value) => room / 2 + (value - (least + most) / 2) * scale;
  };
  const across = fit(nodes.map((node) => node.x), width);
  const down = fit(nodes.map((node) => node.y), height);
  return new Map(nodes.map((node) => [node.id, { x: across(node.x), y: down(node.y) }]));
}
