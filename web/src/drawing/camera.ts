/** What part of a drawing is in sight: the point of it that is at the left top, and how much it is enlarged. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Extent {
  readonly width: number;
  readonly height: number;
}

const MARGIN = 24;
const LARGEST = 2;

/** All of the drawing, in the middle, never enlarged. */
export function fitAll(drawing: Extent, view: Extent): Camera {
  const across = (view.width - 2 * MARGIN) / Math.max(1, drawing.width);
  const down = (view.height - 2 * MARGIN) / Math.max(1, drawing.height);
  const scale = Math.max(0.001, Math.min(1, across, down));
  return {
    scale,
    x: drawing.width / 2 - view.width / 2 / scale,
    y: drawing.height / 2 - view.height / 2 / scale,
  };
}

/** All of it if that can be read; else as much as can, from the left on. */
export function fitReadable(drawing: Extent, view: Extent, min: number): Camera {
  const all = fitAll(drawing, view);
  if (all.scale >= min) return all;
  const centred = drawing.width / 2 - view.width / 2 / min;
  return {
    scale: min,
    x: Math.min(-MARGIN / min, centred),
    y: drawing.height / 2 - view.height / 2 / min,
  };
}

/** The camera that has a point of the drawing in the middle, whatever the size of the view. */
export function cameraAt(x: number, y: number, scale: number, view: Extent): Camera {
  return { scale, x: x - view.width / 2 / scale, y: y - view.height / 2 / scale };
}

export function pan(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x - dx / camera.scale, y: camera.y - dy / camera.scale };
}

/** Enlarges around a point of the view, which stays where it is; never further out than a quarter of all. */
export function zoom(camera: Camera, factor: number, x: number, y: number, min: number): Camera {
  const scale = Math.min(LARGEST, Math.max(min / 4, camera.scale * factor));
  return {
    scale,
    x: camera.x + x / camera.scale - x / scale,
    y: camera.y + y / camera.scale - y / scale,
  };
}

/** Moves as little as needed for a box to be in sight. */
export function reveal(camera: Camera, view: Extent, box: Extent & { x: number; y: number }): Camera {
  const shift = (from: number, size: number, start: number, room: number) => {
    if (start < from) return start;
    return Math.max(from, start + room - size);
  };
  const margin = MARGIN / camera.scale;
  return {
    scale: camera.scale,
    x: shift(camera.x, view.width / camera.scale, box.x - margin, box.width + 2 * margin),
    y: shift(camera.y, view.height / camera.scale, box.y - margin, box.height + 2 * margin),
  };
}
