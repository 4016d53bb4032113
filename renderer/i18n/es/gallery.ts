import type { GalleryKey } from '../en/gallery.ts';

export const gallery: Readonly<Record<GalleryKey, string>> = {
  'gallery.none':
    'Aún no hay muestras. Los entrenadores escriben imágenes y vídeos de muestra durante el entrenamiento, si su configuración lo pide. El worker los sube y aparecen aquí.',
  'gallery.none.jobs': 'Ver trabajos',
  'gallery.summary':
    '{count, plural, one {# muestra} other {# muestras}} de {jobs, plural, one {# trabajo} other {# trabajos}}',
  'gallery.count': '{count, plural, one {# muestra} other {# muestras}}',
  'gallery.choose': 'Elegir {job} para comparar',
  'gallery.choose.hint': 'Elija hasta cuatro trabajos para comparar sus muestras.',
  'gallery.chosen': '{count, plural, one {# trabajo elegido} other {# trabajos elegidos}}',
  'gallery.compare': 'Comparar muestras',
  'gallery.clear': 'Borrar selección',
  'gallery.older': 'Cargar muestras anteriores',
  'gallery.back': 'Todas las muestras',
  'gallery.change': 'Elegir trabajos',
  'gallery.remove': 'Quitar {job}',
  'gallery.comparison': 'Muestras por prompt y trabajo',
  'gallery.unit': 'Comparar por',
  'gallery.unit.step': 'Paso',
  'gallery.unit.epoch': 'Época',
  'gallery.none.before': 'No hay muestra en este paso ni antes',
  'gallery.none.placed':
    'Las muestras de estos trabajos no se pueden comparar, porque sus nombres no contienen paso ni época. Están en todas las muestras.',
  'gallery.none.ofJobs': 'Estos trabajos aún no tienen muestras. Aparecen aquí cuando se suben.',
  'gallery.unplaced':
    '{count, plural, one {# muestra no se muestra, porque su nombre no contiene esa posición.} other {# muestras no se muestran, porque sus nombres no contienen esa posición.}}',
  'gallery.keys': 'Teclas: ← y → cambian el paso, F muestra una muestra a pantalla completa.',
  'gallery.full.keys': 'Teclas: ← y → cambian el paso, ↑ y ↓ el prompt, Esc cierra.',
  'gallery.prompt': 'Prompt {number, number}',
  'gallery.prompt.none': 'Muestra',
  'gallery.sample': '{job}, {prompt}, {place}',
  'gallery.previousStep': 'Paso anterior',
  'gallery.nextStep': 'Paso siguiente',
  'gallery.previousPrompt': 'Prompt anterior',
  'gallery.nextPrompt': 'Prompt siguiente',
};
