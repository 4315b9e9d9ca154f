// Style sheets are taken up by the build.
declare module '*.css';
